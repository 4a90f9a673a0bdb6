#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// How far ABR and CR may be from the paper's and still count as the same packing.
constexpr double kSameRatio = 0.025;

bool is_same_packing(const PublishedRun& run, const StrategyResult& result) {
  if (!result.balance) return false;
  const auto near = [](const std::optional<double>& published, double ours) {
    return !published || std::abs(*published - ours) <= kSameRatio;
  };
  return near(run.abr, result.balance->abr_slots) && near(run.cr, result.balance->cr);
}

// Not a number where the run does not fit or trains nothing.
double gpu_days_of(const StrategyResult& result) {
  return result.times ? result.times->gpu_days : std::numeric_limits<double>::quiet_NaN();
}

std::string ratios_beside(const PublishedRun& run, const StrategyResult& result) {
  std::string text;
  if (!result.balance) return text;
  if (run.abr) text += fmt::format("ABR {:.3f} ({:.3f})", result.balance->abr_slots, *run.abr);
  if (run.cr)
    text += fmt::format("{}CR {:.3f} ({:.3f})", text.empty() ? "" : ", ", result.balance->cr, *run.cr);
  return text;
}

// tolerance: none where nothing is promised. only_same: it holds where the packing is the paper's.
ValidationRow run_row(const PublishedRun& run, const StrategyResult& result, std::optional<double> tolerance,
                      bool only_same) {
  ValidationRow row{.name = run.name,
                    .published = run.gpu_days,
                    .predicted = gpu_days_of(result),
                    .unit = "GPU-days",
                    .error = relative_error(gpu_days_of(result), run.gpu_days),
                    .tolerance = tolerance,
                    .interval = {},
                    .beside = ratios_beside(run, result),
                    .note = run.note};
  if (!result.feasible) {
    row.outcome = tolerance ? Outcome::missed : Outcome::refused;
    row.note = "does not fit in memory";
    return row;
  }
  if (result.times) row.interval = Interval{result.times->gpu_days_low, result.times->gpu_days_high};
  if (only_same && !is_same_packing(run, result)) row.tolerance.reset();
  row.outcome = outcome_of(row.error, row.tolerance);
  return row;
}

ValidationSet run_set(const std::string& name, const std::string& title,
                      const std::vector<PublishedRun>& published, std::optional<double> tolerance,
                      bool only_same, ScenarioRuns& runs) {
  ValidationSet set{.name = name, .title = title, .about = "None of these numbers went into a fit"};
  for (const PublishedRun& run : published)
    set.rows.push_back(run_row(run, runs.run(run.scenario, run.strategy), tolerance, only_same));
  return set;
}

ValidationRow duration_row(const PublishedDuration& published, double tolerance, ScenarioRuns& runs) {
  ValidationRow row{.name = published.name,
                    .published = published.minutes,
                    .predicted = std::numeric_limits<double>::quiet_NaN(),
                    .unit = "minutes",
                    .outcome = Outcome::refused,
                    .note = published.note};
  if (published.scenario.empty()) return row;
  const StrategyResult& result = runs.run(published.scenario, published.strategy);
  if (result.times) row.predicted = 60 * result.times->wall_hours;
  row.error = relative_error(row.predicted, row.published);
  row.tolerance = tolerance;
  row.outcome = result.times ? outcome_of(row.error, row.tolerance) : Outcome::missed;
  return row;
}

ValidationRow ratio_row(const PublishedRatio& published, double tolerance, ScenarioRuns& runs) {
  const double over = gpu_days_of(runs.run(published.scenario, published.over));
  const double under = gpu_days_of(runs.run(published.scenario, published.under));
  ValidationRow row{.name = published.name + ", " + published.over + " over " + published.under,
                    .published = published.ratio,
                    .predicted = over / under,
                    .unit = "ratio",
                    .error = relative_error(over / under, published.ratio),
                    .tolerance = tolerance,
                    .beside = fmt::format("GPU-days {:.1f} and {:.1f}", over, under),
                    .note = published.note};
  row.outcome = outcome_of(row.error, row.tolerance);
  if (std::isnan(row.predicted)) row.outcome = Outcome::missed;
  return row;
}

ValidationSet overhead_set(const PublishedTables& tables, ScenarioRuns& runs) {
  ValidationSet set{.name = "hbp-overhead",
                    .title = "HBP minutes of training and preparation, predicted",
                    .about = "Training by the simulator; what other programs take is not simulated"};
  for (const PublishedDuration& duration : tables.overhead)
    set.rows.push_back(duration_row(duration, tables.tolerances.overhead, runs));
  return set;
}

}  // namespace

void ScenarioRuns::need(const std::string& scenario, const std::string& strategy) {
  std::vector<std::string>& strategies = needed_[scenario];
  if (std::ranges::find(strategies, strategy) == strategies.end()) strategies.push_back(strategy);
}

const StrategyResult& ScenarioRuns::run(const std::string& scenario_name, const std::string& strategy) {
  if (!reports_.contains(scenario_name)) {
    Scenario scenario = load_scenario(scenario_name, data_);
    const std::vector<std::string>& names = needed_[scenario_name];
    std::erase_if(scenario.strategies, [&](const StrategySpec& spec) {
      return std::ranges::find(names, spec.name) == names.end();
    });
    if (scenario.strategies.empty())
      throw std::invalid_argument(fmt::format("{}: expected a strategy {}", scenario.path, strategy));
    scenario.baseline = scenario.strategies.front().name;
    reports_[scenario_name] = compare_strategies(scenario, {.n_threads = 2, .only_times = true});
  }
  for (const StrategyResult& result : reports_.at(scenario_name).runs) {
    if (result.name != strategy) continue;
    if (result.failure)
      throw std::invalid_argument(
          fmt::format("scenario {}: {}: {}", scenario_name, strategy, *result.failure));
    return result;
  }
  throw std::invalid_argument(fmt::format("scenario {}: expected a strategy {}", scenario_name, strategy));
}

std::vector<ValidationSet> validate_gpu_days(const PublishedTables& tables, ScenarioRuns& runs) {
  for (const auto* published :
       {&tables.ablation, &tables.group_selection, &tables.strategies, &tables.batching, &tables.longalign}) {
    for (const PublishedRun& run : *published) runs.need(run.scenario, run.strategy);
  }
  for (const PublishedDuration& duration : tables.overhead) {
    if (!duration.scenario.empty()) runs.need(duration.scenario, duration.strategy);
  }
  const PublishedTolerances& bounds = tables.tolerances;
  return {run_set("hbp-ablation", "HBP ablation, GPU-days, predicted", tables.ablation, bounds.ablation,
                  false, runs),
          run_set("hbp-groups", "HBP group selection, GPU-days, predicted", tables.group_selection,
                  bounds.group_selection, true, runs),
          run_set("hbp-strategies", "HBP packing strategies at 128K, GPU-days, predicted", tables.strategies,
                  bounds.strategies, true, runs),
          run_set("hbp-batching", "HBP batching, GPU-days, predicted", tables.batching, std::nullopt, false,
                  runs),
          run_set("hbp-longalign", "LongAlign's packing and batching, GPU-days, predicted", tables.longalign,
                  bounds.longalign, false, runs),
          overhead_set(tables, runs),
          validate_ratio_ranks(tables, runs)};
}

std::vector<ValidationSet> validate_ratios(const PublishedTables& tables, ScenarioRuns& runs) {
  for (const PublishedRatio& ratio : tables.ratios) {
    runs.need(ratio.scenario, ratio.over);
    runs.need(ratio.scenario, ratio.under);
  }
  ValidationSet set{.name = "hbp-deepseek",
                    .title = "HBP DeepSeek-V2 236B on 256 GPUs, predicted",
                    .about = "The plan is not published; see the scenario's description"};
  for (const PublishedRatio& ratio : tables.ratios)
    set.rows.push_back(ratio_row(ratio, tables.tolerances.ratio, runs));
  return {set};
}

}  // namespace packsim
