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

}  // namespace

double estimated_work_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                        bool at_op_level) {
  const auto n_samples = static_cast<double>(lengths_tokens.size());
  const auto n_tokens =
      static_cast<double>(std::accumulate(lengths_tokens.begin(), lengths_tokens.end(), std::int64_t{0}));
  const double iterations = std::max(
      1.0, n_tokens * scenario.training.epochs / static_cast<double>(scenario.training.tokens_per_iteration));
  const double iteration_s = at_op_level ? kGpuStep_s * scenario.cluster.n_gpus() : kIteration_s;
  double work_s = 0;
  for (const StrategySpec& spec : scenario.strategies) {
    const double n_packings = spec.repack_each_epoch ? scenario.training.epochs : 1;
    work_s += packing_s(spec, n_samples) * n_packings + iteration_s * iterations;
    if (at_op_level) work_s += kFirstGpuStep_s * scenario.cluster.n_gpus();
  }
  return work_s;
}

}  // namespace packsim
