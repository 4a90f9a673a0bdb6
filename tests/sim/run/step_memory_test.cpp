#include "sim/run/step_memory.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace packsim;

namespace {

// Layers in two chunks, as those of a pipeline.
PricedPlan plan_of(int tp_degree, int ep_degree) {
  PricedPlan plan;
  plan.plan.tp_degree = tp_degree;
  plan.plan.ep_degree = ep_degree;
  plan.chunks = {ChunkShape{.n_dense = 20}, ChunkShape{.n_dense = 2, .n_experts = 10}};
  return plan;
}

double ops_of(const PricedPlan& plan) {
  RankWork rank{.plan = &plan};
  rank.micro_batches.resize(3);
  return estimated_ops(std::vector<RankWork>(4, rank));
}

}  // namespace

TEST_CASE("The operations of a step grow with ranks, micro-batches, layers and what a layer exchanges") {
  // 4 ranks x 3 micro-batches x 32 layers = 384, of 10 operations; 16 more with a shared sequence, and 15
  // with experts on other GPUs.
  CHECK(ops_of(plan_of(1, 1)) == 3840);
  CHECK(ops_of(plan_of(8, 1)) == 9984);
  CHECK(ops_of(plan_of(1, 8)) == 9600);
  CHECK(ops_of(plan_of(8, 8)) == 15744);
}

TEST_CASE("A step that takes more memory than is free is refused with what takes less") {
  CHECK_NOTHROW(require_memory(2e9, 2e9));
  CHECK_THROWS_WITH(
      require_memory(5.1e9, 2e9),
      "one step at op level takes about 5.1 GB of memory, more than the 2 GB that are free: simulate "
      "fewer GPUs (--set cluster.nodes=...), compare at --level step, or write fewer --ranks of a "
      "trace");
}
