#include "experiment/costs/run_planning.hpp"

#include <map>
#include <numeric>
#include <utility>

#include "packing/flexsp/options.hpp"
#include "planning/exposed_time.hpp"

namespace packsim {
namespace {

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// [n_batches]: seconds that this machine took.
std::vector<double> measured_s(const PlannedStrategy& plan) {
  std::vector<double> batch_s(plan.packing.planned.iterations.size(), 0);
  for (const SolveRecord& solve : plan.solves) batch_s[static_cast<std::size_t>(solve.batch)] += solve.wall_s;
  return batch_s;
}

// [n_iterations of the schedule]: the global batch that each trains. Every epoch has all of them or, where it
// packs anew, its own.
std::vector<std::size_t> trained_batches(const PlannedStrategy& plan) {
  const PlannedIterations& planned = plan.packing.planned;
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::size_t> batch_of_pack;
  for (std::size_t batch = 0; batch < planned.iterations.size(); ++batch) {
    const PlacedPack& first = planned.placed[planned.iterations[batch].first_placed];
    batch_of_pack[{first.group, first.pack}] = batch;
  }
  std::vector<std::size_t> batches;
  for (const Iteration& iteration : plan.schedule.iterations) {
    const PlacedPack& first = plan.schedule.placed[iteration.first_placed];
    batches.push_back(batch_of_pack.at({first.group, first.pack}));
  }
  return batches;
}

}  // namespace

void set_planning(const StrategySpec& spec, const PlannedStrategy& plan, std::span<const double> step_s,
                  int n_gpus, StrategyResult& result) {
  if (plan.solves.empty()) return;
  const std::vector<double> batch_s = measured_s(plan);
  result.measured.solve_mean_s = sum(batch_s) / static_cast<double>(batch_s.size());
  const PlannerService service{
      .n_processes = static_cast<int>(spec.options[flexsp::kPlannerProcesses]),
      .look_ahead_batches = static_cast<int>(spec.options[flexsp::kLookAheadBatches])};
  const auto n_steps = static_cast<double>(step_s.size());
  const auto waits_s = [&](std::span<const double> solve_s) {
    return sum(exposed_time_s(solve_s, step_s, service));
  };
  if (const std::optional<double> given_s = spec.options[flexsp::kSolveS]) {
    const std::vector<double> solve_s(step_s.size(), *given_s);
    const double wait_s = waits_s(solve_s);
    result.planning = {.exposed_s = wait_s / n_steps,
                       .gpu_days = result.times->gpu_days + wait_s / 86400 * n_gpus};
    return;
  }
  std::vector<double> solve_s;
  for (const std::size_t batch : trained_batches(plan)) solve_s.push_back(batch_s[batch]);
  result.measured.planning_exposed_s = waits_s(solve_s) / n_steps;
}

}  // namespace packsim
