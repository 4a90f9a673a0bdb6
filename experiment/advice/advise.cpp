#include "experiment/advice/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <tuple>

#include "experiment/compare_strategies.hpp"
#include "experiment/for_each_index.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "scenarios/loader/json/problems.hpp"

namespace packsim {
namespace {

using Load = std::function<Scenario(const Settings&)>;
using Progress = std::function<void(const std::string&)>;
using Estimated = std::function<void(double)>;

// The named strategy, or the fastest one that trains the job that was asked for; the first if none has a
// time.
StrategyResult run_to_advise(Scenario scenario, const std::string& strategy, int n_threads,
                             const Progress& progress, const Estimated& estimated) {
  if (!strategy.empty()) keep_strategies(scenario, {strategy});
  RunOptions options{.n_threads = n_threads, .only_times = true, .progress = progress};
  const auto n_strategies = static_cast<double>(scenario.strategies.size());
  const auto n_changes = static_cast<double>(possible_changes().size() + ideal_changes().size());
  // Each change is simulated with one strategy, which may be any of them.
  options.estimated = [&](double work_s) {
    if (estimated) estimated(work_s + n_changes * work_s / n_strategies);
  };
  const Report report = compare_strategies(scenario, options);
  const StrategyResult* fastest = nullptr;
  for (const StrategyResult& run : report.runs) {
    if (!run.times || !run.differences.empty()) continue;
    if (fastest == nullptr || run.times->gpu_days < fastest->times->gpu_days) fastest = &run;
  }
  return fastest == nullptr ? report.runs.front() : *fastest;
}

void simulate_change(const Load& load, const std::string& strategy, AdvisedChange& change) {
  try {
    const StrategyResult result = simulate_strategy(load(change.settings), strategy, {.only_times = true});
    change.feasible = result.feasible;
    change.trains_asked_job = result.differences.empty();
    if (!result.times) return;
    change.gpu_days = result.times->gpu_days;
    change.gpu_days_low = result.times->gpu_days_low;
    change.gpu_days_high = result.times->gpu_days_high;
  } catch (const ScenarioError& error) {
    change.refused = error.messages().front();
  } catch (const std::invalid_argument& error) {
    change.refused = error.what();
  }
}

std::vector<AdvisedChange> changes_of(const std::vector<PossibleChange>& all, const Scenario& scenario,
                                      const StrategySpec& spec) {
  std::vector<AdvisedChange> changes;
  for (const PossibleChange& possible : all) {
    if (std::optional<Settings> settings = possible.settings(scenario, spec))
      changes.push_back(
          {.what = {possible.what}, .settings = std::move(*settings), .refused = {}, .gpu_days = {}});
  }
  return changes;
}

bool is_of_same_key(const Settings& one, const Settings& other) {
  const auto key = [](const std::string& setting) { return setting.substr(0, setting.find('=')); };
  return std::ranges::any_of(one, [&](const std::string& setting) {
    return std::ranges::find(other, key(setting), key) != other.end();
  });
}

// All pairs of the changes that can be made at all, of different keys.
std::vector<AdvisedChange> pairs_of(const std::vector<AdvisedChange>& singles) {
  std::vector<AdvisedChange> pairs;
  for (std::size_t i = 0; i < singles.size(); ++i) {
    for (std::size_t j = i + 1; j < singles.size(); ++j) {
      if (singles[i].refused || singles[j].refused ||
          is_of_same_key(singles[i].settings, singles[j].settings))
        continue;
      AdvisedChange& pair = pairs.emplace_back(singles[i]);
      pair.what.push_back(singles[j].what.front());
      std::ranges::copy(singles[j].settings, std::back_inserter(pair.settings));
    }
  }
  return pairs;
}

void simulate_changes(const Load& load, const std::string& strategy, int n_threads, const Progress& progress,
                      std::vector<AdvisedChange>& changes) {
  for_each_index(changes.size(), n_threads, [&](std::size_t i) {
    progress(fmt::format("{}: {}", strategy, fmt::join(changes[i].what, ", and ")));
    simulate_change(load, strategy, changes[i]);
  });
  const auto rank = [](const AdvisedChange& change) {
    return std::tuple(!change.gpu_days.has_value(), !change.trains_asked_job, change.gpu_days.value_or(0),
                      change.refused.has_value());
  };
  std::ranges::stable_sort(changes, {}, rank);
}

}  // namespace

Advice advise(const Load& load, const std::string& strategy, int n_threads, const Progress& progress,
              const Estimated& estimated) {
  const Scenario scenario = load({});
  const StrategyResult now = run_to_advise(scenario, strategy, n_threads, progress, estimated);
  Advice advice{.strategy = now.name, .feasible = false, .gpu_days = {}, .changes = {}, .limits = {}};
  advice.feasible = now.feasible;
  if (now.times) advice.gpu_days = now.times->gpu_days;
  const StrategySpec& spec = *std::ranges::find(scenario.strategies, advice.strategy, &StrategySpec::name);
  advice.changes = changes_of(possible_changes(), scenario, spec);
  simulate_changes(load, advice.strategy, n_threads, progress, advice.changes);
  if (advice.feasible) {
    advice.limits = changes_of(ideal_changes(), scenario, spec);
    simulate_changes(load, advice.strategy, n_threads, progress, advice.limits);
  }
  if (!advice.feasible && std::ranges::none_of(advice.changes, &AdvisedChange::feasible)) {
    std::vector<AdvisedChange> pairs = pairs_of(advice.changes);
    simulate_changes(load, advice.strategy, n_threads, progress, pairs);
    std::ranges::move(pairs, std::back_inserter(advice.changes));
  }
  return advice;
}

}  // namespace packsim
