#include "experiment/trace_strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "experiment/plans/check_strategies.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "experiment/plans/require_packs.hpp"
#include "experiment/pricing/price_strategy.hpp"
#include "experiment/search/find_plan.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"

namespace packsim {
namespace {

// The iteration at this place when all are sorted by step time: 0 is the shortest, 1 the longest.
std::size_t iteration_at(const std::vector<double>& step_s, double place) {
  std::vector<std::size_t> order(step_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return step_s[i]; });
  return order[static_cast<std::size_t>(place * static_cast<double>(order.size() - 1))];
}

std::size_t find_iteration(const TracedIteration& which, const Schedule& schedule,
                           const PricedStrategy& priced, const Scenario& scenario) {
  if (const TracedBy* by = std::get_if<TracedBy>(&which)) {
    const SimulatedRun run = simulate(schedule, priced.groups, simulation_options(scenario, nullptr));
    return iteration_at(run.step_s, *by == TracedBy::median ? 0.5 : 1);
  }
  const std::size_t iteration = std::get<std::size_t>(which);
  if (iteration >= schedule.iterations.size()) {
    throw std::invalid_argument(
        fmt::format("iteration: expected 0..{}, got {}", schedule.iterations.size() - 1, iteration));
  }
  return iteration;
}

}  // namespace

StrategyTrace trace_strategy(const Scenario& given, const std::string& name, const TracedIteration& which,
                             const std::function<void(const std::string&)>& progress) {
  Scenario scenario = given;
  keep_strategies(scenario, {name});
  progress("packing");
  const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
  check_strategies(scenario, drawn.lengths_tokens);
  SharedPrices prices(scenario);
  StrategyTrace trace{
      .plan = find_plan(scenario, scenario.strategies.front(), drawn.lengths_tokens, prices).plan,
      .iteration = 0,
      .step = {}};
  const auto refuse = [&](std::string_view mistake) {
    throw std::invalid_argument(fmt::format("{}: strategy {}: {}", scenario.path, name, mistake));
  };
  try {
    require_packs(trace.plan.packing);
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
  if (!std::ranges::all_of(trace.plan.groups, &PlannedGroup::feasible))
    refuse("expected a plan that fits in GPU memory (see packsim check)");
  if (trace.plan.schedule.iterations.empty()) refuse("expected at least one iteration, got none");
  progress("pricing");
  const PricedStrategy priced = price_strategy(scenario, trace.plan);
  trace.iteration = find_iteration(which, trace.plan.schedule, priced, scenario);
  progress("simulating");
  const Topology topology(scenario.cluster);
  trace.step = trace_step(trace.plan.schedule, priced.groups, simulation_options(scenario, &topology),
                          trace.iteration);
  return trace;
}

}  // namespace packsim
