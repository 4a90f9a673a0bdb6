#include "calibration/fit/curves/fit_rows.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <tuple>

namespace packsim {
namespace {

// Tukey's weight at four standard deviations is 0.07.
constexpr double kOutlierWeight = 0.07;

// A row that did not settle may be off by several times what it scatters by.
constexpr double kTrustOfDoubtful = 0.5;

bool is_doubtful(const Measurement& row) {
  return row.has_flag("noisy") || row.has_flag("throttled");
}

std::string choice_for(const std::map<std::string, std::string>& choice, const std::string& family) {
  const auto by_family = choice.find(family);
  if (by_family != choice.end()) return by_family->second;
  const auto by_kernel = choice.find(family.substr(0, family.find(' ')));
  return by_kernel != choice.end() ? by_kernel->second : "";
}

std::string joined(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [library, n] : counts) text += (text.empty() ? "" : ", ") + library;
  return text;
}

// The rows that the budget of their run cut short and a later one of the same source measured in full.
std::set<const Measurement*> superseded_rows(const Measurements& measurements) {
  std::set<const Measurement*> superseded;
  std::map<std::tuple<std::string, std::string, std::string>, const Measurement*> cut;
  for (const Measurement& row : measurements.rows) {
    const Measurement*& before = cut[{row.source, row.library, row.kernel.text()}];
    if (before != nullptr) superseded.insert(before);
    before = row.has_flag("cut") ? &row : nullptr;
  }
  return superseded;
}

// Names in `choice` that are neither a family nor a kernel with rows.
std::string unknown_choices(const std::map<std::string, std::string>& choice,
                            const std::map<std::string, std::map<std::string, std::int64_t>>& counts) {
  std::set<std::string> known;
  for (const auto& [family, libraries] : counts) {
    known.insert(family);
    known.insert(family.substr(0, family.find(' ')));
  }
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  std::string mistakes;
  for (const auto& [name, library] : choice) {
    if (!known.contains(name)) {
      mistakes += (mistakes.empty() ? "" : "\n") + ("library of " + name + ": expected a family with rows (" +
                                                    names + "), got \"" + name + "\"");
    }
  }
  return mistakes;
}

}  // namespace

bool is_outlier(const FitRow& row) {
  return row.weight < kOutlierWeight;
}

void set_weight(FitRow& row, double weight) {
  constexpr double kNear = 0.15;
  row.weight = std::abs(row.residual) < kNear ? std::max(weight, kOutlierWeight) : weight;
}

ChosenRows choose_rows(const Measurements& measurements, const std::map<std::string, std::string>& choice) {
  std::map<std::string, std::map<std::string, std::int64_t>> counts;
  const std::set<const Measurement*> superseded = superseded_rows(measurements);
  for (const Measurement& row : measurements.rows) {
    if (row.kernel.kernel() != "step" && !superseded.contains(&row))
      ++counts[kernel_family(row.kernel)][row.library];
  }
  std::string mistakes = unknown_choices(choice, counts);
  ChosenRows chosen;
  for (const auto& [family, libraries] : counts) {
    std::string library = choice_for(choice, family);
    const bool named = !library.empty();
    if (!named) {
      library =
          std::ranges::max_element(libraries, {}, [](const auto& entry) { return entry.second; })->first;
    } else if (!libraries.contains(library)) {
      // Named for a kernel, it may lack some families; then it is their most measured library that counts.
      if (choice.contains(family)) {
        mistakes += (mistakes.empty() ? "" : "\n") + ("library of " + family + ": expected one of " +
                                                      joined(libraries) + ", got \"" + library + "\"");
      }
      library =
          std::ranges::max_element(libraries, {}, [](const auto& entry) { return entry.second; })->first;
    }
    chosen.library[family] = library;
    for (const auto& [other, n] : libraries) {
      if (other != library) {
        chosen.unused.push_back({.family = family,
                                 .library = other,
                                 .n_rows = n,
                                 .reason = named ? "library " + library + " was asked for"
                                                 : "library " + library + " has more rows"});
      }
    }
  }
  if (!mistakes.empty()) throw std::invalid_argument(mistakes);
  for (const Measurement& row : measurements.rows) {
    if (row.kernel.kernel() == "step" || superseded.contains(&row)) continue;
    const std::string family = kernel_family(row.kernel);
    if (row.library != chosen.library[family]) continue;
    chosen.by_family[family].push_back({.row = &row,
                                        .time_s = row.median_s(),
                                        .relative_noise = row.relative_spread(),
                                        .size = curve_place(row.kernel).size,
                                        .trust = is_doubtful(row) ? kTrustOfDoubtful : 1});
  }
  return chosen;
}

FitQuality quality_of(const std::vector<const FitRow*>& rows) {
  FitQuality quality;
  double squares = 0;
  for (const FitRow* row : rows) {
    ++quality.n_rows;
    quality.n_samples += static_cast<std::int64_t>(row->row->samples_s.size());
    if (is_outlier(*row)) {
      ++quality.n_outliers;
      continue;
    }
    squares += row->residual * row->residual;
    quality.max_error = std::max(quality.max_error, std::abs(row->residual));
  }
  const auto n = static_cast<double>(quality.n_rows - quality.n_outliers);
  if (n > 0) quality.rms = std::sqrt(squares / n);
  return quality;
}

std::vector<std::string> sources_of(const std::vector<const FitRow*>& rows) {
  std::set<std::string> ids;
  for (const FitRow* row : rows) ids.insert(row->row->source);
  return {ids.begin(), ids.end()};
}

Eigen::VectorXd trust_of(const std::vector<const FitRow*>& rows) {
  if (std::ranges::all_of(rows, [](const FitRow* row) { return row->trust == 1; })) return {};
  Eigen::VectorXd trust(static_cast<Eigen::Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) trust[static_cast<Eigen::Index>(i)] = rows[i]->trust;
  return trust;
}

std::vector<double> never_falling(const std::vector<double>& values, const std::vector<double>& weights) {
  // Pool adjacent violators: blocks whose means would fall become one.
  struct Block {
    double mean;
    double weight;
    std::size_t n;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    blocks.push_back({values[i], weights[i], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block last = blocks.back();
      blocks.pop_back();
      Block& before = blocks.back();
      const double weight = before.weight + last.weight;
      before.mean = (before.mean * before.weight + last.mean * last.weight) / weight;
      before.weight = weight;
      before.n += last.n;
    }
  }
  std::vector<double> result;
  for (const Block& block : blocks) result.insert(result.end(), block.n, block.mean);
  return result;
}

}  // namespace packsim
