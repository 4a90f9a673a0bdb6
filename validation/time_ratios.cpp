#include "validation/time_ratios.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "models/step/uncertainty.hpp"
#include "validation/interval_score.hpp"
#include "validation/predicted_rows.hpp"

namespace packsim {
namespace {

// Neither these ratios nor the errors of their rows went into a fit of the times.
constexpr std::array<std::string_view, 3> kFittedSets = {"steps-held-out", "steps-stack-left-out",
                                                         "steps-user-stacks"};
constexpr std::array<std::string_view, 7> kSets = {
    "hbp-ablation",   "hbp-groups",           "hbp-strategies",   "hbp-flexsp",
    "steps-held-out", "steps-stack-left-out", "steps-user-stacks"};

// These are the project's targets.
constexpr double kMostRatiosOutside = 0.12;
constexpr double kShareFromFit = 0.05;

struct Ratio {
  ValidationRow row;
  std::string_view source;  // of the job
  double log_error = 0;     // of the published ratio over the predicted one
  const TimeErrors* over = nullptr;
  const TimeErrors* under = nullptr;
  bool is_in_fit = false;

  // Of the logarithm, if each run has this share of left-out errors to itself.
  double error(double own_share) const {
    const double own = std::sqrt(own_share / kOwnShareOfLeftOutError);
    TimeErrors a = *over;
    TimeErrors b = *under;
    a.own *= own;
    b.own *= own;
    return ratio_error(a, b);
  }
};

Ratio ratio_of(const ValidationRow& over, const ValidationRow& under, bool is_in_fit) {
  Ratio ratio{.row = compared_row(over.name + " over " + under.name, over.published / under.published,
                                  over.predicted / under.predicted, "ratio"),
              .source = std::string_view(over.job).substr(0, over.job.find(' ')),
              .over = &*over.errors,
              .under = &*under.errors,
              .is_in_fit = is_in_fit};
  ratio.log_error = std::log(ratio.row.published / ratio.row.predicted);
  const double factor = nine_of_ten_factor(ratio.error(kOwnShareOfLeftOutError));
  ratio.row.interval = {ratio.row.predicted / factor, ratio.row.predicted * factor};
  return ratio;
}

std::vector<Ratio> ratios_of(std::span<const ValidationSet> sets) {
  std::vector<Ratio> ratios;
  for (const ValidationSet& set : sets) {
    if (std::ranges::find(kSets, set.name) == kSets.end()) continue;
    const bool is_in_fit = std::ranges::find(kFittedSets, set.name) != kFittedSets.end();
    std::map<std::string_view, const ValidationRow*> before;  // by job
    for (const ValidationRow& row : set.rows) {
      if (!row.errors) continue;
      const auto [last, is_new] = before.try_emplace(row.job, &row);
      if (!is_new) ratios.push_back(ratio_of(row, *std::exchange(last->second, &row), is_in_fit));
    }
  }
  return ratios;
}

// The share by which the intervals of ratios have the best score, without those of a source; empty: of all.
double fitted_share(std::span<const Ratio> ratios, std::string_view without) {
  constexpr double kShareStep = 0.05;
  double best_share = 0;
  double best_score = std::numeric_limits<double>::infinity();
  for (double share = kShareStep; share < 1 + kShareStep / 2; share += kShareStep) {
    double score = 0;
    for (const Ratio& ratio : ratios) {
      if (!ratio.is_in_fit || ratio.source == without) continue;
      const double half_width = std::log(nine_of_ten_factor(ratio.error(share)));
      score += interval_score(half_width, std::abs(ratio.log_error));
    }
    if (score >= best_score) continue;
    best_score = score;
    best_share = share;
  }
  return best_share;
}

// The share of the fitted ratios that are outside their intervals if their own source is left out of the fit.
double left_out_outside(std::span<const Ratio> ratios) {
  std::map<std::string_view, double> shares;
  double n = 0;
  double n_outside = 0;
  for (const Ratio& ratio : ratios) {
    if (!ratio.is_in_fit) continue;
    const auto [share, is_new] = shares.try_emplace(ratio.source);
    if (is_new) share->second = fitted_share(ratios, ratio.source);
    ++n;
    if (std::abs(ratio.log_error) > std::log(nine_of_ten_factor(ratio.error(share->second)))) ++n_outside;
  }
  return n > 0 ? n_outside / n : 0;
}

}  // namespace

std::span<const std::string_view> sets_with_ratios() {
  return kSets;
}

ValidationSet validate_time_ratios(std::span<const ValidationSet> sets) {
  ValidationSet set{.name = "time-ratios",
                    .title = "Ratios of two runs of a job",
                    .about = "One number of their intervals is fitted to the steps, none to HBP's tables"};
  const std::vector<Ratio> ratios = ratios_of(sets);
  for (const Ratio& ratio : ratios) set.rows.push_back(ratio.row);
  set.bounds = {
      {"share outside the 90 % interval", share_outside(set.rows), kMostRatiosOutside},
      {"share of steps' ratios outside, their source left out", left_out_outside(ratios), kMostRatiosOutside},
      {"distance from its fit: the share of left-out errors that is a run's own",
       std::abs(kOwnShareOfLeftOutError - fitted_share(ratios, "")), kShareFromFit}};
  return set;
}

}  // namespace packsim
