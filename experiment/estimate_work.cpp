#include "experiment/estimate_work.hpp"

#include <algorithm>
#include <numeric>

#include "packing/options/shared_options.hpp"

namespace packsim {
namespace {

// Rounded from one run each of the release build on a shared AMD EPYC: isf and hbp on 10 million samples took
// 9.7 s of wall time together, 112 000 iterations of 4 packs at step level 3.2 s of CPU time, 1 120 of them
// on 8 GPUs at op level 0.48 s, start included.
constexpr double kPacking_s = 5e-7;    // for a sample
constexpr double kIteration_s = 3e-5;  // at step level
constexpr double kGpuStep_s = 5e-5;    // of one GPU in one iteration at op level

// The first iteration at op level: one of 2 048 GPUs took 1.1 s of CPU time, one of 8 192 GPUs 6.7 s.
constexpr double kFirstGpuStep_s = 8e-4;

// isf packs what is left over again, once a round; kPacking_s is with the default rounds.
double packing_s(const StrategySpec& spec, double n_samples) {
  const auto n_rounds = static_cast<double>(spec.options[kRounds]);
  return kPacking_s * n_samples * std::max(1.0, n_rounds / 50);
}

double n_tokens_of(std::span<const std::int32_t> lengths_tokens) {
  return static_cast<double>(std::accumulate(lengths_tokens.begin(), lengths_tokens.end(), std::int64_t{0}));
}

double n_iterations_of(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens) {
  return std::max(1.0, n_tokens_of(lengths_tokens) * scenario.training.epochs /
                           static_cast<double>(scenario.training.tokens_per_iteration));
}

// Of all epochs.
double all_packing_s(const Scenario& scenario, const StrategySpec& spec,
                     std::span<const std::int32_t> lengths_tokens) {
  return packing_s(spec, static_cast<double>(lengths_tokens.size())) *
         (spec.repack_each_epoch ? scenario.training.epochs : 1);
}

}  // namespace

double estimated_work_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                        bool at_op_level) {
  const double n_iterations = n_iterations_of(scenario, lengths_tokens);
  const double iteration_s = at_op_level ? kGpuStep_s * scenario.cluster.n_gpus() : kIteration_s;
  double work_s = 0;
  for (const StrategySpec& spec : scenario.strategies) {
    work_s += all_packing_s(scenario, spec, lengths_tokens) + iteration_s * n_iterations;
    if (at_op_level) work_s += kFirstGpuStep_s * scenario.cluster.n_gpus();
  }
  return work_s;
}

double estimated_trace_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                         bool is_chosen_by_time) {
  const double choice_s = is_chosen_by_time ? kIteration_s * n_iterations_of(scenario, lengths_tokens) : 0;
  return all_packing_s(scenario, scenario.strategies.front(), lengths_tokens) + choice_s +
         kFirstGpuStep_s * scenario.cluster.n_gpus();
}

double estimated_tune_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                        std::size_t n_cases, int n_iterations) {
  const auto n_samples = static_cast<double>(lengths_tokens.size());
  double all_packing_s = 0;  // with the rounds of the strategy that has most
  for (const StrategySpec& spec : scenario.strategies)
    all_packing_s = std::max(all_packing_s, packing_s(spec, n_samples));
  const double all_iterations = n_iterations_of(scenario, lengths_tokens) / scenario.training.epochs;
  const double n_simulated = std::min<double>(n_iterations, std::max(1.0, all_iterations));
  const double packed_fraction = std::min(1.0, n_simulated / all_iterations);
  return static_cast<double>(n_cases) * (all_packing_s * packed_fraction + kIteration_s * n_simulated) +
         all_packing_s;
}

}  // namespace packsim
