#include "experiment/run_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>

#include "experiment/check_strategies.hpp"
#include "experiment/length_summary.hpp"
#include "experiment/loss_biases.hpp"
#include "experiment/plan_of_file.hpp"
#include "experiment/plan_strategy.hpp"
#include "experiment/price_strategy.hpp"
#include "experiment/run_failures.hpp"
#include "experiment/run_planning.hpp"
#include "experiment/set_bounds.hpp"
#include "experiment/step_time_bins.hpp"
#include "experiment/stopwatch.hpp"
#include "experiment/warnings.hpp"
#include "models/step/uncertainty.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/metrics.hpp"
#include "packing/schedule/order_moves.hpp"
#include "scenarios/loader/draw_lengths.hpp"
#include "sim/run/simulate.hpp"

namespace packsim {
namespace {

constexpr std::size_t kStepTimeBins = 400;
constexpr std::size_t kSampledIterations = 8;

DataCounts count_samples(const Packing& packing, const Schedule& schedule, const ScheduleMetrics& metrics) {
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
          .trained_tokens = metrics.trained_tokens};
}

std::optional<Reordering> reordering_of(const Packing& packing, const StrategySpec& spec) {
  if (packing.planned.iterations.empty()) return std::nullopt;
  const OrderMoves moves = order_moves(packing, spec.options);
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
  times.steps = bin_step_times(run.step_s, kStepTimeBins);
  return times;
}

// How well the times are known.
void set_certainty(const Scenario& scenario, const PriceAccount& account, RunTimes& times) {
  const auto evidence = evidence_fractions(times.shares.by_cause, account);
  const auto share = [&](Evidence of) { return evidence[static_cast<std::size_t>(of)]; };
  times.evidence = {.measured = share(Evidence::measured) + share(Evidence::interpolated),
                    .extrapolated = share(Evidence::extrapolated),
                    .missing = share(Evidence::missing)};
  // Its factors hold the level of the very kernels that they were fitted on.
  const bool is_fitted = scenario.is_model_of_profile && scenario.is_hardware_of_profile;
  const Uncertainty uncertainty =
      run_uncertainty(times.shares.by_cause, account, scenario.profile, is_fitted);
  times.gpu_days_low = uncertainty.low() * times.gpu_days;
  times.gpu_days_high = uncertainty.high() * times.gpu_days;
  if (!uncertainty.sources.empty()) times.largest_uncertainty = uncertainty.sources.front().measurement;
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

using Say = std::function<void(const std::string&)>;

// The simulated times of a plan that fits in memory and trains something, and what depends on them.
void simulate_plan(const Scenario& scenario, const StrategySpec& spec, const PlannedStrategy& plan,
                   SharedPrices& prices, const RunOptions& options, const Say& say,
                   StrategyResult& result) {
  const int n_gpus = scenario.cluster.n_gpus();
  const PricedStrategy priced = price_strategy(scenario, plan, prices.lend());
  const std::optional<Topology> topology =
      options.level == Level::op ? std::optional<Topology>(std::in_place, scenario.cluster) : std::nullopt;
  SimulationOptions simulation = simulation_options(scenario, topology ? &*topology : nullptr);
  const SimulatedRun run = simulate(plan.schedule, priced.groups, simulation, [&](std::int64_t iteration) {
    say(fmt::format("simulating iteration {} of {}", iteration, result.iterations));
  });
  result.times = times_of(run, n_gpus);
  set_certainty(scenario, priced.account, *result.times);
  set_planning(spec, plan, run.step_s, n_gpus, result);
  if (scenario.variability.any()) {
    simulation.variability = {};
    const double even_s = simulate(plan.schedule, priced.groups, simulation).total_s;
    result.times->gpu_days_without_variability = even_s / 86400 * n_gpus;
  }
  result.failures = failure_cost(scenario, run.total_s);
}

StrategyResult run_plan(const Scenario& scenario, const StrategySpec& spec, const PlannedStrategy& plan,
                        SharedPrices& prices, const RunOptions& options, const Say& say) {
  const Stopwatch simulation_watch;
  const Packing& packing = plan.packing;
  const Schedule& schedule = plan.schedule;
  const ScheduleMetrics metrics = measure(schedule, plan.batches);
  StrategyResult result{.name = spec.name,
                        .strategy = spec.strategy,
                        .order = spec.order,
                        .last_iteration = spec.last_iteration,
                        .padding = spec.padding,
                        .over_long = spec.over_long,
                        .feasible = std::ranges::all_of(plan.groups, &PlannedGroup::feasible),
                        .groups = plan.groups,
                        .packs = static_cast<std::int64_t>(packing.n_packs()),
                        .iterations = metrics.iterations,
                        .curriculum_iterations = schedule.curriculum_iterations,
                        .counts = count_samples(packing, schedule, metrics)};
  result.reordering = reordering_of(packing, spec);
  result.sampled_iterations = sample_iterations(schedule, plan.batches, plan.groups);
  result.loss_bias = loss_biases(packing, schedule, plan.loss_tokens);
  if (metrics.iterations > 0) result.balance = metrics;
  if (result.feasible && metrics.iterations > 0) simulate_plan(scenario, spec, plan, prices, options, say, result);
  result.measured.packing_s = plan.packing_s;
  result.measured.simulation_s = plan.scheduling_s + simulation_watch.seconds();
  return result;
}

// Runs work(0), ..., work(n - 1) on so many threads; rethrows the exception of the lowest index.
void for_each_index(std::size_t n, int n_threads, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> failures(n);
  std::atomic<std::size_t> next{0};
  const auto worker = [&] {
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int t = 1; t < n_threads; ++t) threads.emplace_back(worker);
  worker();
  threads.clear();  // joins
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

RunManifest make_manifest(const Scenario& scenario) {
  RunManifest manifest;
  manifest.scenario = scenario.path;
  manifest.scenario_name = scenario.name;
  manifest.scenario_description = scenario.description;
  manifest.scenario_hash = scenario.scenario_hash;
  manifest.profile = scenario.profile.name;
  manifest.profile_hash = scenario.profile_hash;
  manifest.profile_source = scenario.profile.source;
  manifest.hardware = scenario.hardware.name;
  manifest.hardware_hash = scenario.hardware_hash;
  manifest.seed = scenario.seed;
  manifest.model = scenario.model.name;
  manifest.cluster = scenario.cluster.name;
  manifest.n_gpus = scenario.cluster.n_gpus();
  manifest.epochs = scenario.training.epochs;
  manifest.tokens_per_iteration = scenario.training.tokens_per_iteration;
  manifest.plan = scenario.plan;
  manifest.variability = scenario.variability;
  manifest.failures = scenario.failures;
  manifest.warnings = extrapolation_warnings(scenario);
  return manifest;
}

LengthSummary summarize(const DrawnLengths& drawn) {
  LengthSummary summary = summarize_lengths(drawn.lengths_tokens);
  for (const DrawnSource& source : drawn.sources) {
    summary.sources.push_back({.name = source.name,
                               .hash = source.hash,
                               .n_samples = source.n_samples,
                               .n_tokens = source.n_tokens,
                               .repeated_samples = source.repeated_samples});
  }
  return summary;
}

// How much faster each run is than the baseline.
void set_speedups(Report& report) {
  const auto baseline = std::ranges::find(report.runs, report.baseline, &StrategyResult::name);
  if (baseline == report.runs.end() || !baseline->times) return;
  for (StrategyResult& run : report.runs) {
    if (run.times) run.speedup = baseline->times->wall_hours / run.times->wall_hours;
  }
}

// Runs all strategies of a scenario, each as make_plan says.
Report run_plans(const Scenario& scenario, const LengthSummary& lengths, const RunOptions& options,
                 const std::function<PlannedStrategy(const StrategySpec&)>& make_plan) {
  Report report;
  report.manifest = make_manifest(scenario);
  report.manifest.level = options.level == Level::op ? "op" : "step";
  report.baseline = scenario.baseline;
  report.lengths = lengths;
  report.runs.resize(scenario.strategies.size());
  std::vector<TrainedData> trained(report.runs.size());
  SharedPrices prices(scenario);
  for_each_index(scenario.strategies.size(), options.n_threads, [&](std::size_t i) {
    const StrategySpec& spec = scenario.strategies[i];
    const auto say = [&](const std::string& what) {
      if (options.progress) options.progress(spec.name + ": " + what);
    };
    try {
      say(fmt::format("packing {} samples", lengths.n_samples));
      const PlannedStrategy plan = make_plan(spec);
      trained[i] = trained_data(plan);
      report.runs[i] = run_plan(scenario, spec, plan, prices, options, say);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(
          fmt::format("{}: /strategies/{}: {}: {}", scenario.path, i, spec.name, error.what()));
    }
  });
  if (options.progress) options.progress("computing lower bounds");
  set_bounds(scenario, trained, prices, report);

  for (const StrategyResult& run : report.runs) {
    std::ranges::move(run_warnings(run, scenario, report.lengths.n_tokens),
                      std::back_inserter(report.manifest.warnings));
  }

  set_speedups(report);
  return report;
}

// [n_samples] the tokens of each sample that the plan has; of cut ones, as far as its last piece goes.
std::vector<std::int32_t> kept_lengths(const PlanTables& plan) {
  if (plan.piece_samples.empty()) return {plan.lengths_tokens.begin(), plan.lengths_tokens.end()};
  std::vector<std::int32_t> lengths_tokens(static_cast<std::size_t>(plan.facts.counts.n_samples));
  for (std::size_t item = 0; item < plan.piece_samples.size(); ++item) {
    std::int32_t& length = lengths_tokens[plan.piece_samples[item]];
    length = std::max(length, plan.piece_starts[item] + plan.lengths_tokens[item]);
  }
  return lengths_tokens;
}

}  // namespace

Report run_scenario(const Scenario& scenario, const RunOptions& options) {
  if (options.progress) options.progress("reading lengths");
  const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
  check_strategies(scenario, drawn.lengths_tokens);
  return run_plans(scenario, summarize(drawn), options, [&](const StrategySpec& spec) {
    PlannedStrategy plan = plan_strategy(scenario, spec, drawn.lengths_tokens);
    if (options.planned) options.planned(spec, plan, drawn.lengths_tokens);
    return plan;
  });
}

Report run_plan_file(const Scenario& scenario, const std::string& path, const RunOptions& options) {
  if (options.progress) options.progress("reading " + path);
  const PlanView plan = PlanView::open(path);
  const Scenario planned = scenario_of_plan(scenario, plan, path);
  LengthSummary lengths = summarize_lengths(kept_lengths(*plan));
  lengths.sources.push_back({.name = path,
                             .hash = plan->facts.lengths_hash,
                             .n_samples = plan->facts.counts.n_samples,
                             .n_tokens = plan->facts.counts.n_tokens});
  return run_plans(planned, lengths, options,
                   [&](const StrategySpec&) { return plan_of_file(planned, plan); });
}

}  // namespace packsim
