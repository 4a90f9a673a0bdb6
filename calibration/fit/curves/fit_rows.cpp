#include "calibration/fit/curves/fit_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>
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
  return fmt::format("{}", fmt::join(std::views::keys(counts), ", "));
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
  std::vector<std::string> mistakes;
  for (const auto& [name, library] : choice) {
    if (!known.contains(name))
      mistakes.push_back(fmt::format("library of {0}: expected a family with rows ({1}), got \"{0}\"", name,
                                     fmt::join(known, ", ")));
  }
  return fmt::format("{}", fmt::join(mistakes, "\n"));
}

}  // namespace

bool is_outlier(const FitRow& row) {
  return row.weight < kOutlierWeight;
}

void set_fitted(const FitRows& rows, const Eigen::VectorXd& residuals, const Eigen::VectorXd& weights) {
  constexpr double kNear = 0.15;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    rows[i]->residual = residuals[at];
    rows[i]->weight = std::abs(residuals[at]) < kNear ? std::max(weights[at], kOutlierWeight) : weights[at];
  }
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

FitQuality quality_of(const FitRows& rows) {
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

std::vector<std::string> sources_of(const FitRows& rows) {
  std::set<std::string> ids;
  for (const FitRow* row : rows) ids.insert(row->row->source);
  return {ids.begin(), ids.end()};
}

std::map<std::string, FitRows> by_curve(const FitRows& rows) {
  std::map<std::string, FitRows> curves;
  for (FitRow* row : rows) curves[curve_place(row->row->kernel).key].push_back(row);
  return curves;
}

Eigen::VectorXd trust_of(const FitRows& rows) {
  if (std::ranges::all_of(rows, [](const FitRow* row) { return row->trust == 1; })) return {};
  Eigen::VectorXd trust(static_cast<Eigen::Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) trust[static_cast<Eigen::Index>(i)] = rows[i]->trust;
  return trust;
}

PositiveFit fit_times_of(const FitRows& rows, const RowTime& time_s, const std::vector<double>& start) {
  std::vector<double> measured_s;
  for (const FitRow* row : rows) measured_s.push_back(row->time_s);
  return fit_positive(time_s, measured_s, start, trust_of(rows));
}

KeyRange range_of(const std::string& key, const std::vector<double>& values) {
  return {key, std::ranges::min(values), std::ranges::max(values)};
}

KeyRange range_of(const std::string& key, const FitRows& rows) {
  std::vector<double> values;
  for (const FitRow* row : rows) values.push_back(static_cast<double>(row->row->kernel.integer(key)));
  return range_of(key, values);
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
