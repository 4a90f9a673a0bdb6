#include "experiment/estimate_work.hpp"

#include <algorithm>
#include <numeric>

#include "experiment/search/base_plans.hpp"
#include "models/state_traffic.hpp"
#include "packing/strategy.hpp"

namespace packsim {
namespace {

// Fitted, but for kWiderPlan_s, to the processor times of 18 runs of `compare` (docs/performance.md, "The
// announced time").
constexpr double kSample_s = 3.6e-7;    // packing it, once
constexpr double kPack_s = 5e-7;        // simulating it if each of its passes is one operation
constexpr double kEventPack_s = 4e-5;   // simulating it if its passes are several operations
constexpr double kTrial_s = 9e-3;       // pricing and simulating one plan of a search, beside its samples
constexpr double kPlannerTrials = 230;  // plans that the planner's search simulates
constexpr double kSearchTrials = 38;    // those of another strategy's
// Looking into a combination of tensor, pipeline and expert degrees that is not the plan's own, in the search
// and in the bound. Six runs of December 2026 take 1.2 to 2.1 times the estimate (docs/performance.md).
constexpr double kWiderPlan_s = 0.06;
constexpr double kPlannerWholePlans = 4;  // close rivals of the planner, tried with all samples
constexpr double kIteration_s = 3e-5;     // of a tuning, at step level

// Rounded from one run each: 1 120 iterations on 8 GPUs at op level took 0.48 s of CPU time, start included.
constexpr double kGpuStep_s = 5e-5;  // of one GPU in one iteration at op level

// The first iteration at op level: one of 2 048 GPUs took 1.1 s of CPU time, one of 8 192 GPUs 6.7 s.
constexpr double kFirstGpuStep_s = 8e-4;

// Iterations up to which a search tries plans with all samples, and the number that it tries of larger data
// (experiment/search/find_plan.cpp).
constexpr double kFullyTriedIterations = 64;
constexpr double kTriedIterations = 32;

double n_tokens_of(std::span<const std::int32_t> lengths_tokens) {
  return static_cast<double>(std::accumulate(lengths_tokens.begin(), lengths_tokens.end(), std::int64_t{0}));
}

double n_iterations_of(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens) {
  return std::max(1.0, n_tokens_of(lengths_tokens) * scenario.training.epochs /
                           static_cast<double>(scenario.training.tokens_per_iteration));
}

// Packs of one epoch: with a row for each sample as many as samples, else full ones.
double n_packs_of(const StrategySpec& spec, std::span<const std::int32_t> lengths_tokens) {
  if (spec.strategy == "none" || spec.strategy == "sorted") return static_cast<double>(lengths_tokens.size());
  constexpr double kUsualCapacity_tokens = 131072;  // where a search chooses it
  const double n_tokens = n_tokens_of(lengths_tokens);
  if (spec.groups.empty()) return n_tokens / kUsualCapacity_tokens;
  double n_packs = 0;
  for (const GroupSpec& group : spec.groups) n_packs += n_tokens / static_cast<double>(group.capacity_tokens);
  return n_packs / static_cast<double>(spec.groups.size());
}

// A pass is several operations if ranks meet in it, or if stages or experts' ranks wait for each other.
double pack_s(const Scenario& scenario, const StrategySpec& spec) {
  const ParallelPlan& plan = base_plan(scenario, spec);
  const bool has_events = gathers_every_pass(plan) || plan.pp_degree > 1 || plan.ep_degree > 1;
  const double times = scenario.variability.any() ? 2 : 1;  // with the variability and without
  return times * (has_events ? kEventPack_s : kPack_s);
}

// Packing the samples once, or in every epoch.
double packing_s(const Scenario& scenario, const StrategySpec& spec,
                 std::span<const std::int32_t> lengths_tokens) {
  return kSample_s * static_cast<double>(lengths_tokens.size()) *
         (spec.repack_each_epoch ? scenario.training.epochs : 1);
}

// Simulating all epochs at step level.
double simulation_s(const Scenario& scenario, const StrategySpec& spec,
                    std::span<const std::int32_t> lengths_tokens) {
  return pack_s(scenario, spec) * n_packs_of(spec, lengths_tokens) * scenario.training.epochs;
}

// Searching the strategy's plan, if it is open.
double search_s(const Scenario& scenario, const StrategySpec& spec,
                std::span<const std::int32_t> lengths_tokens) {
  if (!has_open_groups(spec)) return 0;
  const double all_iterations = n_iterations_of(scenario, lengths_tokens) / scenario.training.epochs;
  const double tried_fraction =
      all_iterations <= kFullyTriedIterations ? 1 : kTriedIterations / all_iterations;
  const double whole_s = kSample_s * static_cast<double>(lengths_tokens.size()) +
                         pack_s(scenario, spec) * n_packs_of(spec, lengths_tokens);
  const double trial_s = kTrial_s + whole_s * tried_fraction;
  const ParallelPlan own = base_plan(scenario, spec);
  const auto n_wider = std::ranges::count_if(base_plans(scenario, spec), [&](const ParallelPlan& plan) {
    return plan == root_of(plan) && (plan.tp_degree != own.tp_degree || plan.pp_degree != own.pp_degree ||
                                     plan.ep_degree != own.ep_degree);
  });
  const double wider_s = kWiderPlan_s * static_cast<double>(n_wider);
  if (!chooses_groups(spec)) return kSearchTrials * trial_s + wider_s;
  return wider_s + kPlannerTrials * trial_s +
         kPlannerWholePlans *
             (packing_s(scenario, spec, lengths_tokens) + simulation_s(scenario, spec, lengths_tokens));
}

}  // namespace

double estimated_work_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                        bool at_op_level) {
  const double n_iterations = n_iterations_of(scenario, lengths_tokens);
  double work_s = 0;
  for (const StrategySpec& spec : scenario.strategies) {
    work_s += packing_s(scenario, spec, lengths_tokens) + search_s(scenario, spec, lengths_tokens);
    work_s += at_op_level ? (kGpuStep_s * n_iterations + kFirstGpuStep_s) * scenario.cluster.n_gpus()
                          : simulation_s(scenario, spec, lengths_tokens);
  }
  return work_s;
}

double estimated_trace_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                         bool is_chosen_by_time) {
  const StrategySpec& spec = scenario.strategies.front();
  const double choice_s = is_chosen_by_time ? simulation_s(scenario, spec, lengths_tokens) : 0;
  return packing_s(scenario, spec, lengths_tokens) + search_s(scenario, spec, lengths_tokens) + choice_s +
         kFirstGpuStep_s * scenario.cluster.n_gpus();
}

double estimated_tune_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                        std::size_t n_cases, int n_iterations) {
  const double all_packing_s = kSample_s * static_cast<double>(lengths_tokens.size());
  const double all_iterations = n_iterations_of(scenario, lengths_tokens) / scenario.training.epochs;
  const double n_simulated = std::min<double>(n_iterations, std::max(1.0, all_iterations));
  const double packed_fraction = std::min(1.0, n_simulated / all_iterations);
  return static_cast<double>(n_cases) * (all_packing_s * packed_fraction + kIteration_s * n_simulated) +
         all_packing_s;
}

}  // namespace packsim
