#include "experiment/advice/change_that_fits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "experiment/compare_strategies.hpp"
#include "experiment/results/misfit.hpp"
#include "experiment/search/base_plans.hpp"
#include "experiment/search/nearest_plan.hpp"
#include "scenarios/loader/json/problems.hpp"

namespace packsim {
namespace {

using Load = std::function<Scenario(const Settings&)>;

bool is_of_cluster(const FittingChange& change) {
  return change.settings.front().starts_with("cluster.");
}

std::vector<FittingChange> more_nodes(const Scenario& scenario) {
  constexpr int kMostTimes = 16;
  std::vector<FittingChange> changes;
  const int nodes = scenario.cluster.nodes;
  for (int times = 2; times <= kMostTimes; times *= 2) {
    changes.push_back({.what = fmt::format("{} nodes in place of {}", times * nodes, nodes),
                       .settings = {fmt::format("cluster.nodes={}", times * nodes)}});
  }
  return changes;
}

// What costs nothing comes first.
std::vector<FittingChange> changes_to_try(const Scenario& scenario, const StrategySpec& spec) {
  std::vector<FittingChange> changes;
  for (const PossibleChange& possible : possible_changes()) {
    if (std::optional<Settings> settings = possible.settings(scenario, spec))
      changes.push_back({.what = std::string(possible.what), .settings = *std::move(settings)});
  }
  const auto hardware = std::ranges::stable_partition(changes, std::not_fn(is_of_cluster));
  const std::vector<FittingChange> nodes = more_nodes(scenario);
  changes.insert(hardware.begin(), nodes.begin(), nodes.end());
  return changes;
}

// A search that finds no plan takes long, and that its longest sample does not fit is known at once.
bool may_fit(const Scenario& scenario, const StrategySpec& spec, std::int64_t longest_tokens) {
  const auto longest = static_cast<std::int32_t>(longest_tokens);
  return !has_open_groups(spec) || nearest_plan(scenario, spec, {&longest, 1}).may_fit;
}

// Whether the strategy fits with the change; sets what it then takes.
bool fits_with(const Load& load, const std::string& strategy, std::int64_t longest_tokens,
               FittingChange& change) {
  try {
    const Scenario scenario = load(change.settings);
    const auto spec = std::ranges::find(scenario.strategies, strategy, &StrategySpec::name);
    if (!may_fit(scenario, *spec, longest_tokens)) return false;
    const StrategyResult run = simulate_strategy(scenario, strategy, {.only_times = true});
    if (!run.feasible || !run.times) return false;
    change.gpu_days = run.times->gpu_days;
    change.gpu_days_low = run.times->gpu_days_low;
    change.gpu_days_high = run.times->gpu_days_high;
    change.trains_asked_job = run.differences.empty();
    return true;
  } catch (const ScenarioError&) {
    return false;  // the model, the cluster or the trainer refuses the change
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace

std::optional<FittingSearch> change_that_fits(const Load& load, const Report& report,
                                              const std::function<void(const std::string&)>& progress) {
  if (std::ranges::any_of(report.runs, &StrategyResult::feasible)) return std::nullopt;
  const StrategyResult* nearest = nearest_to_fitting(report);
  if (nearest == nullptr) return std::nullopt;
  FittingSearch search{.strategy = nearest->name, .n_tried = 0, .found = {}};
  const Scenario scenario = load({});
  const StrategySpec& spec = *std::ranges::find(scenario.strategies, nearest->name, &StrategySpec::name);
  for (FittingChange& change : changes_to_try(scenario, spec)) {
    progress(fmt::format("does {} fit with {}?", search.strategy, change.what));
    ++search.n_tried;
    if (!fits_with(load, search.strategy, report.lengths.longest_tokens, change)) continue;
    const bool is_asked = change.trains_asked_job;
    if (is_asked || !search.found) search.found = std::move(change);
    if (is_asked) break;
  }
  return search;
}

}  // namespace packsim
