#include "models/state_traffic.hpp"

#include <catch2/catch.hpp>

using namespace packsim;

namespace {

ParallelPlan at_stage(int zero_stage, const ExecutionStyle& execution = {}) {
  return {.n_gpus = 8, .zero_stage = zero_stage, .execution = execution};
}

}  // namespace

TEST_CASE("What the stages of ZeRO shard, and what travels how often") {
  struct Row {
    int stage;
    bool optimizer, gradients, weights;
    const char* collective;
    int reductions, gathers;  // in 2 steps of 5 micro-batches in all
  };
  // ZeRO (arXiv 1910.02054), section 5: optimizer states, then gradients, then weights. Stage 3 gathers
  // forward and backward, 2 x 5 times. Stage 0 has nothing to gather, whatever the count.
  const std::vector<Row> rows = {{1, true, false, false, "reduce_scatter", 2, 2},
                                 {2, true, true, false, "reduce_scatter", 5, 2},
                                 {3, true, true, true, "reduce_scatter", 5, 10}};
  for (const Row& row : rows) {
    CAPTURE(row.stage);
    const ParallelPlan plan = at_stage(row.stage);
    CHECK(shards_optimizer(plan) == row.optimizer);
    CHECK(shards_gradients(plan) == row.gradients);
    CHECK(shards_weights(plan) == row.weights);
    CHECK(gradient_collective(plan) == row.collective);
    CHECK(n_reductions(plan, 2, 5) == row.reductions);
    CHECK(n_gathers(plan, 2, 5) == row.gathers);
    CHECK(gathers_every_pass(plan) != gathers_changed_weights(plan));
  }
  CHECK_FALSE(shards_optimizer(at_stage(0)));
  CHECK(gradient_collective(at_stage(0)) == "all_reduce");
  CHECK_FALSE((gathers_every_pass(at_stage(0)) || gathers_changed_weights(at_stage(0))));
}

TEST_CASE("With a pipeline, weights are gathered and gradients reduced once a step at every stage") {
  for (const int stage : {1, 2, 3}) {
    CAPTURE(stage);
    ParallelPlan plan = at_stage(stage);
    plan.pp_degree = 2;
    CHECK(shards_gradients(plan) == (stage >= 2));
    CHECK(shards_weights(plan) == (stage == 3));
    CHECK(n_reductions(plan, 2, 5) == 2);
    CHECK(n_gathers(plan, 2, 5) == 2);
    CHECK_FALSE(reduces_from_two_buckets(plan));
    CHECK_FALSE(reduces_after_next_gather(plan));
    CHECK(gathers_every_step(plan) == (stage == 3));
    CHECK(gathers_in_forward(plan) == (stage == 3));
    CHECK(gathers_after_optimizer(plan) == (stage < 3));
  }
  for (const int stage : {0, 1, 2, 3}) CHECK_FALSE(gathers_every_step(at_stage(stage)));
}

TEST_CASE("Hybrid sharding: shard groups of so many GPUs, and a replica of each shard in every group") {
  // 64 GPUs, 2 x 2 of which hold other weights: 16 hold the same.
  ParallelPlan plan{.n_gpus = 64, .tp_degree = 2, .pp_degree = 2, .zero_stage = 3};
  CHECK(shard_gpus(plan) == 16);
  CHECK(shard_replicas(plan) == 1);
  plan.shard_degree = 4;
  CHECK(shard_gpus(plan) == 4);
  CHECK(shard_replicas(plan) == 4);
  plan.shard_degree = 16;
  CHECK(shard_replicas(plan) == 1);
}

TEST_CASE("Gradients that travel once a step wait for the last backward pass where nothing overlaps") {
  const ExecutionStyle waits = {.overlaps_states = false};
  for (const int stage : {0, 1}) {
    CHECK(reduces_after_backward(at_stage(stage, waits)));
    CHECK_FALSE(reduces_during_backward(at_stage(stage, waits), true));
    CHECK(reduces_during_backward(at_stage(stage), true));
    CHECK_FALSE(reduces_during_backward(at_stage(stage), false));
  }
  for (const int stage : {2, 3}) {
    CHECK_FALSE(reduces_after_backward(at_stage(stage, waits)));
    CHECK(reduces_during_backward(at_stage(stage, waits), false));
    CHECK(reduces_from_two_buckets(at_stage(stage)) == (stage == 2));
    CHECK(reduces_after_next_gather(at_stage(stage)) == (stage == 3));
    CHECK_FALSE(reduces_after_next_gather(at_stage(stage, waits)));
  }
}

TEST_CASE("Changed weights are gathered behind the optimizer, or in the next forward pass") {
  const ExecutionStyle overlaps = {.overlaps_gather = true};
  for (const int stage : {0, 1, 2, 3}) {
    CAPTURE(stage);
    const bool has_changed_weights = stage == 1 || stage == 2;
    CHECK(gathers_after_optimizer(at_stage(stage)) == has_changed_weights);
    CHECK_FALSE(gathers_in_forward(at_stage(stage)));
    CHECK(gathers_in_forward(at_stage(stage, overlaps)) == has_changed_weights);
    CHECK_FALSE(gathers_after_optimizer(at_stage(stage, overlaps)));
  }
}

TEST_CASE("A plan at another stage overlaps where that stage always does, and as it says elsewhere") {
  const ParallelPlan waits = at_stage(1, {.overlaps_states = false});
  CHECK_FALSE(with_zero_stage(waits, 0).execution.overlaps_states);
  CHECK(with_zero_stage(waits, 2).execution.overlaps_states);
  CHECK(with_zero_stage(waits, 3).execution.overlaps_states);
  CHECK(with_zero_stage(at_stage(1), 0).execution.overlaps_states);
  CHECK(with_zero_stage(waits, 3).zero_stage == 3);
}
