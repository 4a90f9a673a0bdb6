#include "experiment/simulate_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "experiment/costs/loss_biases.hpp"
#include "experiment/costs/price_basis.hpp"
#include "experiment/costs/run_cost.hpp"
#include "experiment/costs/run_failures.hpp"
#include "experiment/costs/run_planning.hpp"
#include "experiment/costs/utilisation.hpp"
#include "experiment/costs/whole_run.hpp"
#include "experiment/mixing/strategy_mixture.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "experiment/pricing/price_strategy.hpp"
#include "experiment/results/iteration_bins.hpp"
#include "experiment/results/step_distribution.hpp"
#include "experiment/results/step_timeline.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/metrics.hpp"
#include "packing/schedule/order_moves.hpp"
#include "sim/run/simulate.hpp"

namespace packsim {
namespace {

constexpr std::size_t kStepTimeBins = 400;
constexpr std::size_t kAbrBins = 200;
constexpr std::size_t kStepQuantiles = 200;
constexpr std::size_t kSlowestSteps = 3;
constexpr std::size_t kTimelineLanes = 32;
constexpr int kMostTracedGpus = 8192;  // tracing every rank of a larger cluster takes seconds
constexpr std::size_t kSampledIterations = 8;

DataCounts count_samples(const PlannedStrategy& plan, const ScheduleMetrics& metrics) {
  const Packing& packing = plan.packing;
  const Schedule& schedule = plan.schedule;
  const PackCounts& counts = packing.counts;
  return {.dropped_samples = counts.dropped_samples,
          .dropped_tokens = counts.dropped_tokens * schedule.epochs + schedule.dropped_tokens,
          .empty_samples = counts.empty_samples,
          .truncated_samples = counts.truncated_samples,
          .truncated_tokens = counts.truncated_tokens * schedule.epochs,
          .split_samples = counts.split_samples,
          .own_pack_samples = counts.own_pack_samples,
          .repeated_tokens = schedule.repeated_tokens,
          .padded_tokens = metrics.padded_tokens,
          .trained_tokens = metrics.trained_tokens,
          .largest_iteration_tokens = metrics.largest_iteration_tokens,
          .longest_tokens = longest_tokens(plan.batches)};
}

std::optional<Reordering> reordering_of(const PlannedStrategy& plan, const StrategySpec& spec) {
  if (plan.packing.planned.iterations.empty()) return std::nullopt;
  const OrderMoves moves = plan.moves ? *plan.moves : order_moves(plan.packing, spec.options);
  return Reordering{.mean_iterations = moves.mean_move_iterations,
                    .largest_iterations = moves.largest_move_iterations};
}

RunTimes times_of(const SimulatedRun& run, int n_gpus) {
  RunTimes times;
  times.step_mean_s = run.step_mean_s;
  times.step_p99_s = run.step_p99_s;
  times.wall_hours = run.total_s / 3600;
  times.gpu_days = run.total_s / 86400 * n_gpus;
  times.shares = {.by_cause = run.fraction, .idle = run.idle_fraction};
  times.steps = bin_iterations(run.step_s, kStepTimeBins);
  times.step_quantiles_s = step_quantiles(run.step_s, kStepQuantiles);
  return times;
}

// [n_groups] The part of the tokens that each group trains.
std::vector<double> token_parts(const PlannedStrategy& plan) {
  std::vector<double> parts;
  double all = 0;
  for (const std::vector<MicroBatch>& batches : plan.batches) {
    double& tokens = parts.emplace_back();
    for (const MicroBatch& batch : batches) tokens += static_cast<double>(batch.tokens);
    all += tokens;
  }
  for (double& part : parts) part /= std::max(all, 1.0);
  return parts;
}

// Sets the evidence and the 90 % interval of the times.
void set_certainty(const Scenario& scenario, const PlannedStrategy& plan, const PriceAccount& account,
                   const SimulatedRun& run, RunTimes& times) {
  const PriceBasis basis =
      price_basis(scenario, plan.plans, token_parts(plan), run.fraction, run.busiest_fraction, account);
  times.evidence = basis.evidence;
  times.evidence_by_cause = basis.evidence_by_cause;
  times.errors = basis.uncertainty.errors;
  const double factor = nine_of_ten_factor(time_error(times.errors));
  times.gpu_days_low = times.gpu_days / factor;
  times.gpu_days_high = times.gpu_days * factor;
  if (!basis.uncertainty.sources.empty())
    times.largest_uncertainty = basis.uncertainty.sources.front().reason;
}

std::vector<SampledIteration> sample_iterations(const Schedule& schedule, const GroupBatches& batches,
                                                std::span<const PlannedGroup> groups) {
  std::vector<SampledIteration> samples;
  const std::size_t n = schedule.iterations.size();
  const std::size_t n_samples = std::min(n, kSampledIterations);
  for (std::size_t k = 0; k < n_samples; ++k) {
    const std::size_t index = (2 * k + 1) * n / (2 * n_samples);
    const Iteration& iteration = schedule.iterations[index];
    SampledIteration sample;
    sample.iteration = static_cast<std::int64_t>(index);
    for (const PlacedPack& placed : schedule.packs(iteration))
      sample.capacity_tokens = std::max(sample.capacity_tokens, groups[placed.group].capacity_tokens);
    sample.gpus_per_pack = schedule.gpus_per_pack(iteration);
    attention_work(schedule, iteration, batches, sample.attention_pairs);
    sample.abr = imbalance(sample.attention_pairs);
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<StepTimeline> timelines(const PlannedStrategy& plan, const PricedStrategy& priced,
                                    SimulationOptions options, std::span<const double> step_s) {
  std::vector<StepTimeline> timelines;
  if (plan.schedule.n_gpus > kMostTracedGpus || !options.ranks_wait) return timelines;
  options.most_step_bytes = std::numeric_limits<double>::infinity();  // kMostTracedGpus limits it
  for (const auto& [which, iteration] :
       {std::pair("median", median_step(step_s)), std::pair("slowest", slowest_step(step_s))}) {
    StepTimeline& timeline = timelines.emplace_back(
        step_timeline(trace_step(plan.schedule, priced.groups, options, iteration), kTimelineLanes));
    timeline.which = which;
    timeline.iteration = static_cast<std::int64_t>(iteration);
  }
  return timelines;
}

// Sets the simulated times, and what depends on them, of a plan that fits in memory and trains something.
void set_times(const Scenario& scenario, const StrategySpec& spec, const PlannedStrategy& plan,
               SharedPrices& prices, const PlanSimulation& options, const Say& say,
               std::span<const double> abr, StrategyResult& result) {
  const int n_gpus = scenario.cluster.n_gpus();
  const PricedStrategy priced = price_strategy(scenario, plan, prices.lend());
  const std::optional<Topology> topology =
      options.level == Level::op ? std::optional<Topology>(std::in_place, scenario.cluster) : std::nullopt;
  SimulationOptions simulation = simulation_options(scenario, topology ? &*topology : nullptr);
  simulation.most_step_bytes = options.most_step_bytes;
  const SimulatedRun run = simulate(plan.schedule, priced.groups, simulation, [&](std::int64_t iteration) {
    say(fmt::format("simulating iteration {} of {}", iteration, result.iterations));
  });
  result.times = times_of(run, n_gpus);
  result.times->utilisation = utilisation(scenario, plan, run.total_s);
  set_certainty(scenario, plan, account_of(plan, priced), run, *result.times);
  if (!options.only_times) {
    result.times->slowest_steps = slowest_steps(plan.schedule, plan.batches, run.step_s, abr, kSlowestSteps);
    result.times->timelines = timelines(plan, priced, simulation, run.step_s);
  }
  set_planning(spec, plan, run.step_s, n_gpus, result);
  if (options.draws != nullptr)
    result.mixture = strategy_mixture(scenario, spec, plan, *options.draws, run, *priced.pricers);
  if (scenario.variability.any()) {
    simulation.variability = {};
    const double even_s = simulate(plan.schedule, priced.groups, simulation).total_s;
    result.times->gpu_days_without_variability = even_s / 86400 * n_gpus;
  }
  if (scenario.beside_steps) {
    const auto tokens = static_cast<double>(result.counts.trained_tokens);
    result.whole =
        whole_run(scenario, *result.times, result.iterations, forward_gpu_s(plan, priced) / tokens);
  }
  result.failures = failure_cost(scenario, result.whole ? 3600 * result.whole->wall_hours : run.total_s);
  result.cost = run_cost(scenario.cluster, *result.times, result.whole, result.failures);
}

}  // namespace

StrategyResult simulate_plan(const Scenario& scenario, const StrategySpec& spec, const PlannedStrategy& plan,
                             SharedPrices& prices, const PlanSimulation& options, const Say& say) {
  const Stopwatch simulation_watch;
  const Packing& packing = plan.packing;
  const Schedule& schedule = plan.schedule;
  std::vector<double> abr;
  const ScheduleMetrics metrics = measure(schedule, plan.batches, &abr);
  StrategyResult result{.name = spec.name,
                        .strategy = spec.strategy,
                        .policies = spec,
                        .feasible = std::ranges::all_of(plan.groups, &PlannedGroup::feasible),
                        .plan = base_plan(scenario, spec),
                        .overlaps_states = plan.plans.front().execution.overlaps_states,
                        .groups = plan.groups,
                        .packs = static_cast<std::int64_t>(packing.n_packs()),
                        .iterations = metrics.iterations,
                        .curriculum_iterations = schedule.curriculum_iterations,
                        .counts = count_samples(plan, metrics),
                        .sizes = iteration_sizes(scenario, spec, plan)};
  result.reordering = reordering_of(plan, spec);
  if (plan.epochs) result.repacking = plan.epochs->repacking;
  result.sampled_iterations = sample_iterations(schedule, plan.batches, plan.groups);
  result.abr_over_run = bin_iterations(abr, kAbrBins);
  if (!options.only_times) result.loss_bias = loss_biases(packing, schedule, plan.loss_tokens);
  if (metrics.iterations > 0) result.balance = metrics;
  if (result.feasible && metrics.iterations > 0)
    set_times(scenario, spec, plan, prices, options, say, abr, result);
  result.measured.packing_s = plan.packing_s;
  result.measured.simulation_s = plan.scheduling_s + simulation_watch.seconds();
  return result;
}

}  // namespace packsim
