#include "experiment/search/try_plan.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "experiment/pricing/price_strategy.hpp"
#include "packing/schedule/metrics.hpp"
#include "sim/run/simulate.hpp"

namespace packsim {
namespace {

std::int64_t lost_tokens(const PlannedStrategy& plan) {
  return plan.packing.counts.dropped_tokens + plan.packing.counts.truncated_tokens +
         plan.schedule.dropped_tokens;
}

std::int64_t packed_tokens(const PlannedStrategy& plan) {
  std::int64_t n_tokens = 0;
  for (const std::vector<MicroBatch>& batches : plan.batches) {
    for (const MicroBatch& batch : batches) n_tokens += batch.tokens;
  }
  return n_tokens;
}

// As many micro-batches of a rank as have the tokens of an iteration on average, if the packs are of one
// length and too empty or too long for the number that the plan has; none if that number is right.
std::optional<int> fitting_micro_batches(const Scenario& scenario, const PlannedStrategy& plan) {
  const bool forms_iterations = !plan.packing.planned.iterations.empty();
  if (forms_iterations || plan.batches.size() != 1 || plan.batches.front().empty()) return std::nullopt;
  const GroupPlan& group = plan.schedule.groups.front();
  const double n_packs = static_cast<double>(plan.batches.front().size());
  const double of_round = static_cast<double>(packed_tokens(plan)) / n_packs * group.n_dp_ranks;
  const double wanted = static_cast<double>(scenario.training.tokens_per_iteration) / of_round;
  // There are no more packs than there are.
  const double most = std::min(std::ceil(n_packs / group.n_dp_ranks), static_cast<double>(kMostMicroBatches));
  int n = static_cast<int>(std::clamp(std::floor(wanted), 1.0, std::max(1.0, most)));
  const ParallelPlan& parallel = plan.plans.front();
  if (parallel.schedule().needs_full_rounds) n = std::max(n - n % parallel.pp_degree, parallel.pp_degree);
  return n == group.micro_batches_per_rank ? std::nullopt : std::optional(n);
}

// Time of as many iterations of one group's packs as there are packs for; the last one counts by its part.
double epoch_of_samples_s(const PlannedStrategy& plan, const SimulatedRun& run) {
  const Schedule& schedule = plan.schedule;
  if (!plan.packing.planned.iterations.empty()) return run.total_s;
  std::vector<double> total_s(plan.batches.size(), 0);
  std::vector<double> n_iterations(plan.batches.size(), 0);
  for (std::size_t i = 0; i < schedule.iterations.size(); ++i) {
    const auto packs = schedule.packs(schedule.iterations[i]);
    const std::size_t group = packs.front().group;
    const auto whole = static_cast<double>(schedule.groups[group].packs_per_iteration());
    total_s[group] += run.step_s[i];
    n_iterations[group] += static_cast<double>(packs.size()) / whole;
  }
  double epoch_s = 0;
  for (std::size_t g = 0; g < plan.batches.size(); ++g) {
    if (n_iterations[g] == 0) continue;
    const double wanted = static_cast<double>(plan.batches[g].size()) /
                          static_cast<double>(schedule.groups[g].packs_per_iteration());
    epoch_s += total_s[g] * wanted / n_iterations[g];
  }
  return epoch_s;
}

// A sample of the data has few iterations, of which more are filled by repeating packs; that is not counted.
IterationSizes sizes_of(const Scenario& scenario, const StrategySpec& spec, const PlannedStrategy& plan,
                        bool is_sample) {
  IterationSizes sizes = iteration_sizes(scenario, spec, plan);
  if (is_sample) sizes.repeated_tokens = 0;
  return sizes;
}

TriedPlan try_or_throw(const Scenario& scenario, const PlanCandidate& candidate,
                       std::span<const std::int32_t> lengths_tokens, bool is_sample, double most_s,
                       const std::shared_ptr<ScenarioPricers>& pricers) {
  TriedPlan tried{.candidate = candidate};
  StrategySpec spec = candidate.spec;
  spec.curriculum_iterations = 0;
  if (!is_sample) {
    for (GroupSpec& group : spec.groups) group.gc_layers.reset();
  }
  PlannedStrategy plan = plan_strategy(scenario, spec, lengths_tokens, *pricers);
  if (!spec.micro_batches_per_rank) {
    if (const std::optional<int> n = fitting_micro_batches(scenario, plan)) {
      StrategySpec fitting = spec;
      fitting.micro_batches_per_rank = *n;
      PlannedStrategy fitted = plan_strategy(scenario, fitting, lengths_tokens, *pricers);
      // Where packs differ much in their tokens, some iterations are too large although the mean is right.
      if (!has_asked_iterations(sizes_of(scenario, spec, plan, is_sample)) ||
          has_asked_iterations(sizes_of(scenario, fitting, fitted, is_sample))) {
        tried.candidate.spec.micro_batches_per_rank = *n;
        spec = fitting;
        plan = std::move(fitted);
      }
    }
  }
  tried.groups = plan.groups;
  if (!std::ranges::all_of(plan.groups, &PlannedGroup::fits_with_margin)) {
    tried.refusal = "does not fit in memory";
    return tried;
  }
  if (plan.schedule.iterations.empty()) {
    tried.refusal = "trains nothing";
    return tried;
  }
  tried.lost_tokens = lost_tokens(plan);
  const IterationSizes sizes = sizes_of(scenario, spec, plan, is_sample);
  tried.is_asked_job = has_asked_iterations(sizes);
  tried.has_asked_mean = sizes.has_asked_mean();
  const PricedStrategy priced = price_strategy(scenario, plan, pricers);
  SimulationOptions options = simulation_options(scenario, nullptr);
  options.most_total_s = most_s;
  const SimulatedRun run = simulate(plan.schedule, priced.groups, options);
  if (run.total_s > most_s) {
    tried.refusal = "slower than others";
    return tried;
  }
  tried.epoch_s = is_sample ? epoch_of_samples_s(plan, run) : run.total_s;
  return tried;
}

}  // namespace

bool is_better(const TriedPlan& one, const TriedPlan& other) {
  const auto rank = [](const TriedPlan& tried) {
    const bool is_far_off = !tried.is_asked_job && !tried.has_asked_mean;
    return std::tuple(tried.lost_tokens, !tried.is_asked_job, is_far_off, tried.epoch_s);
  };
  return rank(one) < rank(other);
}

TriedPlan try_plan(const Scenario& scenario, const PlanCandidate& candidate,
                   std::span<const std::int32_t> lengths_tokens, bool is_sample, double most_s,
                   const std::shared_ptr<ScenarioPricers>& pricers) {
  try {
    TriedPlan tried = try_or_throw(scenario, candidate, lengths_tokens, is_sample, most_s, pricers);
    pricers->forget_interpolated();
    return tried;
  } catch (const std::logic_error& error) {
    TriedPlan refused{.candidate = candidate};
    refused.refusal = error.what();
    return refused;
  }
}

}  // namespace packsim
