// How well the ratios of packings tell which of them is fast, in the paper and here.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<double> ranks;
  for (const double value : values) {
    double rank = 0;
    for (const double other : values) rank += other < value ? 1 : other == value ? 0.5 : 0;
    ranks.push_back(rank);
  }
  return ranks;
}

double covariance(std::span<const double> a, std::span<const double> b) {
  const auto n = static_cast<double>(a.size());
  double a_sum = 0;
  double b_sum = 0;
  double products = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    a_sum += a[i];
    b_sum += b[i];
    products += a[i] * b[i];
  }
  return products / n - a_sum / n * (b_sum / n);
}

struct RatioColumn {
  std::string_view name;
  std::optional<double> PublishedRow::*published;
  double ScheduleMetrics::*ours;
};

constexpr RatioColumn kColumns[] = {
    {"ABR", &PublishedRow::abr, &ScheduleMetrics::abr_slots},
    {"CR", &PublishedRow::cr, &ScheduleMetrics::cr},
    {"DBR", &PublishedRow::dbr, &ScheduleMetrics::dbr},
    {"PR", &PublishedRow::pr, &ScheduleMetrics::pr},
};

// A few runs say nothing about an order.
constexpr std::size_t kFewestRuns = 5;

// Each run of a scenario and strategy once.
std::vector<PublishedRow> distinct(std::span<const PublishedRow> runs) {
  std::vector<PublishedRow> kept;
  for (const PublishedRow& run : runs) {
    const auto is_same = [&](const PublishedRow& other) {
      return other.scenario == run.scenario && other.strategy == run.strategy;
    };
    if (std::ranges::none_of(kept, is_same)) kept.push_back(run);
  }
  return kept;
}

std::optional<ValidationRow> rank_row(const std::string& tables, const RatioColumn& column,
                                      std::span<const PublishedRow> published, double tolerance,
                                      ScenarioRuns& runs) {
  std::vector<double> ratios;
  std::vector<double> gpu_days;
  std::vector<double> our_ratios;
  std::vector<double> our_gpu_days;
  for (const PublishedRow& run : published) {
    const std::optional<double>& ratio = run.*column.published;
    const StrategyResult& result = runs.run(run.scenario, run.strategy);
    if (!ratio || !result.balance || !result.times) continue;
    ratios.push_back(*ratio);
    gpu_days.push_back(run.value);
    our_ratios.push_back((*result.balance).*column.ours);
    our_gpu_days.push_back(result.times->gpu_days);
  }
  if (ratios.size() < kFewestRuns) return std::nullopt;
  const std::optional<double> theirs = rank_correlation(ratios, gpu_days);
  if (!theirs) return std::nullopt;
  const std::optional<double> ours = rank_correlation(our_ratios, our_gpu_days);
  ValidationRow row = compared_row(
      fmt::format("{}, {} and GPU-days, {} runs", tables, column.name, ratios.size()), *theirs,
      ours.value_or(std::numeric_limits<double>::quiet_NaN()), "rank correlation", tolerance, true);
  if (!ours) row.note = fmt::format("All runs have the same {} here.", column.name);
  return row;
}

}  // namespace

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw std::invalid_argument("rank correlation: expected lists of equal length");
  if (a.empty()) return std::nullopt;
  const std::vector<double> a_ranks = ranks_of(a);
  const std::vector<double> b_ranks = ranks_of(b);
  const double spread = std::sqrt(covariance(a_ranks, a_ranks) * covariance(b_ranks, b_ranks));
  if (!(spread > 0)) return std::nullopt;
  return covariance(a_ranks, b_ranks) / spread;
}

ValidationSet validate_ratio_ranks(const PublishedTables& tables, ScenarioRuns& runs) {
  std::vector<PublishedRow> packings;
  for (const auto* published : {&tables.strategies, &tables.ablation, &tables.group_selection}) {
    std::ranges::copy_if(*published, std::back_inserter(packings), [&](const PublishedRow& run) {
      return run.scenario == tables.strategies.front().scenario;
    });
  }
  const std::vector<std::pair<std::string, std::vector<PublishedRow>>> groups = {
      {"tables 6, 11 and 13, 8B model", distinct(packings)}, {"table 3", tables.batching}};
  ValidationSet set{.name = "hbp-ratio-ranks",
                    .title = "HBP ratios and GPU-days, order of the runs",
                    .about =
                        "Spearman's rank correlation: 1 if the run with the larger ratio always takes "
                        "longer"};
  for (const auto& [name, published] : groups) {
    for (const RatioColumn& column : kColumns) {
      if (auto row = rank_row(name, column, published, tables.tolerance("rank_correlation/difference"), runs))
        set.rows.push_back(std::move(*row));
    }
  }
  return set;
}

}  // namespace packsim
