#include "sim/run/step_memory.hpp"

#include <array>
#include <cstdio>

namespace packsim {
namespace {

double ops_of_layer(const ParallelPlan& plan) {
  constexpr double kAlways = 10;
  constexpr double kOfSequence = 16;
  constexpr double kOfExperts = 15;
  return kAlways + (plan.sequence_gpus() > 1 ? kOfSequence : 0) + (plan.ep_degree > 1 ? kOfExperts : 0);
}

}  // namespace

double estimated_ops(std::span<const RankWork> ranks) {
  double n_ops = 0;
  for (const RankWork& rank : ranks) {
    for (std::size_t m = 0; m < rank.micro_batches.size(); ++m) {
      const PricedPlan& plan = rank.plan_of(m);
      int n_layers = 0;
      for (const ChunkShape& chunk : plan.chunks) n_layers += chunk.n_layers();
      n_ops += n_layers * ops_of_layer(plan.plan);
    }
  }
  return n_ops;
}

double estimated_step_bytes(std::span<const RankWork> ranks, bool is_traced) {
  constexpr double kOp_bytes = 110;
  constexpr double kTracedOp_bytes = 170;
  return estimated_ops(ranks) * (is_traced ? kTracedOp_bytes : kOp_bytes);
}

void require_memory(double needed_bytes, double most_bytes) {
  if (needed_bytes <= most_bytes) return;
  std::array<char, 512> text;
  std::snprintf(
      text.data(), text.size(),
      "one step at op level takes about %.2g GB of memory, more than the %.2g GB that are free: simulate "
      "fewer GPUs (--set cluster.nodes=...), compare at --level step, or write fewer --ranks of a trace",
      needed_bytes / 1e9, most_bytes / 1e9);
  throw StepTooLarge(text.data());
}

}  // namespace packsim
