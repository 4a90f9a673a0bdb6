#include "experiment/tune/simulated_profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricing/price_strategy.hpp"
#include "experiment/tune/case_checks.hpp"
#include "packing/algorithms/shuffle.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/schedule/metrics.hpp"
#include "sim/run/simulate.hpp"

namespace packsim {
namespace {

// The first samples, of those that are not longer than the packs, with at least so many tokens together; all
// of them where they have fewer.
std::vector<std::int32_t> first_samples(std::span<const std::int32_t> lengths_tokens,
                                        std::int64_t pack_tokens, std::int64_t n_tokens) {
  std::vector<std::int32_t> samples;
  for (const std::int32_t length : lengths_tokens) {
    if (length == 0 || length > pack_tokens) continue;
    samples.push_back(length);
    n_tokens -= length;
    if (n_tokens <= 0) break;
  }
  return samples;
}

// The strategy whose options and padding the packs have; null: the defaults.
const StrategySpec* find_like(const Scenario& scenario) {
  for (const std::string_view name : {"isf", "hbp"}) {
    const auto found = std::ranges::find(scenario.strategies, name, &StrategySpec::strategy);
    if (found != scenario.strategies.end()) return &*found;
  }
  return nullptr;
}

StrategySpec isf_spec(const Scenario& scenario, const ProfiledCase& one, PackOrder order) {
  StrategySpec spec;
  spec.options.set(kSeed.name, std::int64_t{scenario.seed});
  if (const StrategySpec* like = find_like(scenario)) spec = *like;
  spec.name = spec.strategy = "isf";
  spec.groups = {{.capacity_tokens = one.pack_tokens,
                  .sequence = {.ulysses = one.sequence.ulysses},
                  .gc_layers = one.gc_layers}};
  spec.order = order;
  spec.curriculum_iterations = 0;
  spec.micro_batches_per_rank.reset();
  spec.last_iteration = LastIteration::drop;
  return spec;
}

// Mean seconds of so many tokens of data.
double simulate_s(const Scenario& scenario, const PlannedStrategy& plan) {
  const PricedStrategy priced = price_strategy(scenario, plan);
  const SimulatedRun run = simulate(plan.schedule, priced.groups, simulation_options(scenario, nullptr));
  const std::int64_t n_tokens = measure(plan.schedule, plan.batches).trained_tokens;
  return run.total_s * static_cast<double>(scenario.training.tokens_per_iteration) /
         static_cast<double>(n_tokens);
}

ProfiledCase profile(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                     const ProfilerOptions& options, std::int64_t pack_tokens, int sp_degree) {
  ProfiledCase one = planned_case(scenario, pack_tokens, sp_degree);
  if (!one.infeasible_reason.empty()) return one;
  // Packs hold no more than their length, so these are enough for the iterations.
  const std::int64_t n_tokens = options.n_iterations * scenario.training.tokens_per_iteration;
  const std::vector<std::int32_t> samples = first_samples(lengths_tokens, pack_tokens, n_tokens);
  if (samples.empty()) {
    one.infeasible_reason = "every sample is longer";
    return one;
  }
  StrategySpec spec = isf_spec(scenario, one, options.order);
  PlannedStrategy plan = plan_strategy(scenario, spec, samples);
  if (plan.schedule.iterations.empty()) {  // the data are less than an iteration
    spec.last_iteration = LastIteration::repeat;
    plan = plan_strategy(scenario, spec, samples);
  }
  one.step_s = simulate_s(scenario, plan);
  return one;
}

}  // namespace

Profiler simulated_profiler(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                            const ProfilerOptions& options) {
  std::vector<std::int32_t> ordered(lengths_tokens.begin(), lengths_tokens.end());
  Generator generator(scenario.seed);
  shuffle(std::span(ordered), generator);
  return [&scenario, ordered = std::move(ordered), options](std::int64_t pack_tokens, int sp_degree) {
    if (options.progress)
      options.progress(fmt::format("simulating packs of {} tokens, SP {}", pack_tokens, sp_degree));
    return std::vector{profile(scenario, ordered, options, pack_tokens, sp_degree)};
  };
}

}  // namespace packsim
