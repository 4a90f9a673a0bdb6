// How well the ratios of packings tell which of them is fast, in the paper and here.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "validation/rank_correlation.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

struct RatioColumn {
  std::string_view name;
  std::optional<double> PublishedRun::*published;
  double ScheduleMetrics::*ours;
};

constexpr RatioColumn kColumns[] = {
    {"ABR", &PublishedRun::abr, &ScheduleMetrics::abr_slots},
    {"CR", &PublishedRun::cr, &ScheduleMetrics::cr},
    {"DBR", &PublishedRun::dbr, &ScheduleMetrics::dbr},
    {"PR", &PublishedRun::pr, &ScheduleMetrics::pr},
};

// A few runs say nothing about an order.
constexpr std::size_t kFewestRuns = 5;

// Each run of a scenario and strategy once.
std::vector<PublishedRun> distinct(std::span<const PublishedRun> runs) {
  std::vector<PublishedRun> kept;
  for (const PublishedRun& run : runs) {
    const auto is_same = [&](const PublishedRun& other) {
      return other.scenario == run.scenario && other.strategy == run.strategy;
    };
    if (std::ranges::none_of(kept, is_same)) kept.push_back(run);
  }
  return kept;
}

std::optional<ValidationRow> rank_row(const std::string& tables, const RatioColumn& column,
                                      std::span<const PublishedRun> published, double tolerance,
                                      ScenarioRuns& runs) {
  std::vector<double> ratios;
  std::vector<double> gpu_days;
  std::vector<double> our_ratios;
  std::vector<double> our_gpu_days;
  for (const PublishedRun& run : published) {
    const std::optional<double>& ratio = run.*column.published;
    const StrategyResult& result = runs.run(run.scenario, run.strategy);
    if (!ratio || !result.balance || !result.times) continue;
    ratios.push_back(*ratio);
    gpu_days.push_back(run.gpu_days);
    our_ratios.push_back((*result.balance).*column.ours);
    our_gpu_days.push_back(result.times->gpu_days);
  }
  if (ratios.size() < kFewestRuns) return std::nullopt;
  const std::optional<double> theirs = rank_correlation(ratios, gpu_days);
  if (!theirs) return std::nullopt;
  const std::optional<double> ours = rank_correlation(our_ratios, our_gpu_days);
  ValidationRow row{.name = fmt::format("{}, {} and GPU-days, {} runs", tables, column.name, ratios.size()),
                    .published = *theirs,
                    .predicted = ours.value_or(std::numeric_limits<double>::quiet_NaN()),
                    .unit = "rank correlation",
                    .error_is_difference = true,
                    .tolerance = tolerance,
                    .outcome = Outcome::missed};
  if (ours) {
    row.error = *ours - *theirs;
    row.outcome = outcome_of(row.error, row.tolerance);
  } else {
    row.note = fmt::format("All runs have the same {} here.", column.name);
  }
  return row;
}

}  // namespace

ValidationSet validate_ratio_ranks(const PublishedTables& tables, ScenarioRuns& runs) {
  std::vector<PublishedRun> packings;
  for (const auto* published : {&tables.strategies, &tables.ablation, &tables.group_selection}) {
    std::ranges::copy_if(*published, std::back_inserter(packings), [&](const PublishedRun& run) {
      return run.scenario == tables.strategies.front().scenario;
    });
  }
  const std::vector<std::pair<std::string, std::vector<PublishedRun>>> groups = {
      {"tables 6, 11 and 13, 8B model", distinct(packings)}, {"table 3", tables.batching}};
  ValidationSet set{.name = "hbp-ratio-ranks",
                    .title = "HBP ratios and GPU-days, order of the runs",
                    .about =
                        "Spearman's rank correlation: 1 if the run with the larger ratio always takes "
                        "longer"};
  for (const auto& [name, published] : groups) {
    for (const RatioColumn& column : kColumns) {
      if (auto row = rank_row(name, column, published, tables.tolerances.rank_correlation, runs))
        set.rows.push_back(std::move(*row));
    }
  }
  return set;
}

}  // namespace packsim
