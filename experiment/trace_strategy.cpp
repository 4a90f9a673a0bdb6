#include "experiment/trace_strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "experiment/data_set.hpp"
#include "experiment/estimate_work.hpp"
#include "experiment/mixing/window_plans.hpp"
#include "experiment/plans/check_strategies.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "experiment/plans/require_packs.hpp"
#include "experiment/pricing/price_strategy.hpp"
#include "experiment/results/step_distribution.hpp"
#include "experiment/search/find_plan.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"

namespace packsim {
namespace {

std::size_t find_iteration(const TracedIteration& which, const Schedule& schedule,
                           const PricedStrategy& priced, const Scenario& scenario) {
  if (const TracedBy* by = std::get_if<TracedBy>(&which)) {
    const SimulatedRun run = simulate(schedule, priced.groups, simulation_options(scenario, nullptr));
    return *by == TracedBy::median ? median_step(run.step_s) : slowest_step(run.step_s);
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
                             const TraceOptions& options) {
  if (!given.ranks_wait) {
    throw std::invalid_argument(
        given.path + ": /what_if/free: expected no \"waiting\" in a trace, which shows how ranks wait");
  }
  Scenario scenario = given;
  keep_strategies(scenario, {name});
  const auto say = [&](const std::string& what) {
    if (options.progress) options.progress(what);
  };
  say("reading lengths");
  const DataSet data = draw_data(scenario);
  const DrawnLengths& drawn = data.drawn;
  check_strategies(scenario, drawn.lengths_tokens);
  if (options.estimated)
    options.estimated(
        estimated_trace_s(scenario, drawn.lengths_tokens, std::holds_alternative<TracedBy>(which)));
  say("packing");
  SharedPrices prices(scenario);
  StrategyTrace trace{
      .plan = data.mixture != nullptr
                  ? find_mixture_plan(scenario, scenario.strategies.front(), *data.mixture,
                                      *data.still_mixture, prices)
                        .plan
                  : find_plan(scenario, scenario.strategies.front(), drawn.lengths_tokens, prices).plan,
      .steps = {}};
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
  say("pricing");
  const PricedStrategy priced = price_strategy(scenario, trace.plan);
  const std::size_t first = find_iteration(which, trace.plan.schedule, priced, scenario);
  const std::size_t n_left = trace.plan.schedule.iterations.size() - first;
  const std::size_t n_steps = options.n_steps;
  if (n_steps < 1 || n_steps > n_left) {
    throw std::invalid_argument(
        fmt::format("steps: expected 1..{} from iteration {} on, got {}", n_left, first, n_steps));
  }
  say("simulating");
  const Topology topology(scenario.cluster);
  SimulationOptions simulation = simulation_options(scenario, &topology);
  simulation.most_step_bytes = options.most_step_bytes / static_cast<double>(n_steps);
  const std::size_t n_text_ranks = options.n_text_ranks == 0 ? std::numeric_limits<std::size_t>::max()
                                                             : static_cast<std::size_t>(options.n_text_ranks);
  SimTime start;
  for (std::size_t i = first; i < first + n_steps; ++i) {
    StrategyStep& traced = trace.steps.emplace_back();
    traced.iteration = i;
    traced.step = trace_step(trace.plan.schedule, priced.groups, simulation, i, start, n_text_ranks);
    traced.memory = trace_memory(scenario, trace.plan, i, traced.step);
    start = traced.step.end;
  }
  return trace;
}

}  // namespace packsim
