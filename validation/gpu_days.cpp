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

// Ratios of GPU-days are those of one strategy over another's.
constexpr const char* kOver = "isf";
constexpr const char* kUnder = "hbp";

bool is_same_packing(const PublishedRow& run, const StrategyResult& result) {
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

std::string ratios_beside(const PublishedRow& run, const StrategyResult& result) {
  std::string text;
  if (!result.balance) return text;
  if (run.abr) text += fmt::format("ABR {:.3f} ({:.3f})", result.balance->abr_slots, *run.abr);
  if (run.cr)
    text += fmt::format("{}CR {:.3f} ({:.3f})", text.empty() ? "" : ", ", result.balance->cr, *run.cr);
  return text;
}

// tolerance: none where nothing is promised. only_same: it holds where the packing is the paper's.
ValidationRow run_row(const PublishedRow& run, const StrategyResult& result, std::optional<double> tolerance,
                      bool only_same) {
  const bool counts = !only_same || !result.feasible || is_same_packing(run, result);
  ValidationRow row =
      compared_row(run.name, run.value, gpu_days_of(result), "GPU-days", counts ? tolerance : std::nullopt);
  row.beside = ratios_beside(run, result);
  row.note = run.note;
  if (!result.feasible) {
    row.outcome = tolerance ? Outcome::missed : Outcome::refused;
    row.note = "does not fit in memory";
    return row;
  }
  set_interval(result, run.scenario, row);
  return row;
}

ValidationSet run_set(const std::string& name, const std::string& title,
                      const std::vector<PublishedRow>& published, std::optional<double> tolerance,
                      bool only_same, ScenarioRuns& runs) {
  ValidationSet set{.name = name, .title = title, .about = "None of these numbers went into a fit"};
  for (const PublishedRow& run : published)
    set.rows.push_back(run_row(run, runs.run(run.scenario, run.strategy), tolerance, only_same));
  return set;
}

ValidationRow duration_row(const PublishedRow& published, double tolerance, ScenarioRuns& runs) {
  const bool is_simulated = !published.scenario.empty();
  double minutes = std::numeric_limits<double>::quiet_NaN();
  if (is_simulated) {
    const StrategyResult& result = runs.run(published.scenario, published.strategy);
    if (result.times) minutes = 60 * result.times->wall_hours;
  }
  ValidationRow row = compared_row(published.name, published.value, minutes, "minutes",
                                   is_simulated ? std::optional(tolerance) : std::nullopt);
  if (!is_simulated) row.outcome = Outcome::refused;
  row.note = published.note;
  return row;
}

ValidationRow ratio_row(const PublishedRow& published, double tolerance, ScenarioRuns& runs) {
  const double over = gpu_days_of(runs.run(published.scenario, kOver));
  const double under = gpu_days_of(runs.run(published.scenario, kUnder));
  ValidationRow row = compared_row(fmt::format("{}, {} over {}", published.name, kOver, kUnder),
                                   published.value, over / under, "ratio", tolerance);
  row.beside = fmt::format("GPU-days {:.1f} and {:.1f}", over, under);
  row.note = published.note;
  return row;
}

ValidationSet overhead_set(const PublishedTables& tables, ScenarioRuns& runs) {
  ValidationSet set{.name = "hbp-overhead",
                    .title = "HBP minutes of training and preparation, predicted",
                    .about = "Training by the simulator; what other programs take is not simulated"};
  for (const PublishedRow& duration : tables.overhead)
    set.rows.push_back(duration_row(duration, tables.tolerance("overhead/fraction"), runs));
  return set;
}

}  // namespace

void set_interval(const StrategyResult& run, const std::string& scenario, ValidationRow& row) {
  if (!run.times) return;
  row.interval = Interval{run.times->gpu_days_low, run.times->gpu_days_high};
  row.errors = run.times->errors;
  row.job = scenario;
}

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
  for (const auto* published : {&tables.ablation, &tables.group_selection, &tables.strategies,
                                &tables.batching, &tables.longalign, &tables.overhead}) {
    for (const PublishedRow& run : *published) {
      if (!run.scenario.empty()) runs.need(run.scenario, run.strategy);
    }
  }
  return {run_set("hbp-ablation", "HBP ablation, GPU-days, predicted", tables.ablation,
                  tables.tolerance("ablation/fraction"), false, runs),
          run_set("hbp-groups", "HBP group selection, GPU-days, predicted", tables.group_selection,
                  tables.tolerance("group_selection/fraction"), true, runs),
          run_set("hbp-strategies", "HBP packing strategies at 128K, GPU-days, predicted", tables.strategies,
                  tables.tolerance("strategies/fraction"), true, runs),
          run_set("hbp-batching", "HBP batching, GPU-days, predicted", tables.batching, std::nullopt, false,
                  runs),
          run_set("hbp-longalign", "LongAlign's packing and batching, GPU-days, predicted", tables.longalign,
                  tables.tolerance("longalign/fraction"), false, runs),
          overhead_set(tables, runs),
          validate_ratio_ranks(tables, runs)};
}

std::vector<ValidationSet> validate_ratios(const PublishedTables& tables, ScenarioRuns& runs) {
  for (const PublishedRow& ratio : tables.ratios) {
    runs.need(ratio.scenario, kOver);
    runs.need(ratio.scenario, kUnder);
  }
  ValidationSet set{.name = "hbp-deepseek",
                    .title = "HBP DeepSeek-V2 236B on 256 GPUs, predicted",
                    .about = "The plan is not published; see the scenario's description"};
  for (const PublishedRow& ratio : tables.ratios)
    set.rows.push_back(ratio_row(ratio, tables.tolerance("deepseek_ratio/fraction"), runs));
  return {set};
}

}  // namespace packsim
