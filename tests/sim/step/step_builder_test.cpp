#include "sim/step/step_builder.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "sim/engine/op_account.hpp"
#include "tests/sim/step/random_steps.hpp"
#include "tests/trials.hpp"

// What must hold of any step, on random ones.

namespace packsim {
namespace {

std::int64_t sum(const NsByCause& by_cause_ns) {
  return std::accumulate(by_cause_ns.begin(), by_cause_ns.end(), std::int64_t{0});
}

std::vector<WorkTime> work_of(const RandomStep& step, StepDetail detail) {
  StepBuilder builder(detail, nullptr);
  OpGraph graph;
  builder.build(step.ranks, graph);
  return {builder.work().begin(), builder.work().end()};
}

Cluster one_gpu_nodes(int n_nodes, double bytes_per_s) {
  Cluster cluster{.name = "", .source = "", .gpu = {}};
  cluster.nodes = n_nodes;
  cluster.gpus_per_node = 1;
  cluster.network = {.nvlink_bytes_per_s = bytes_per_s, .nics_per_node = 1, .nic_bytes_per_s = bytes_per_s};
  return cluster;
}

TEST_CASE("Both levels of detail end a step in the same nanosecond where nothing contends") {
  RandomSteps steps(1);
  for (int i = 0; i < packsim_test::trials(8000); ++i) {
    const RandomStep step = steps.next();
    const ParallelPlan& plan = step.plan.plan;
    CAPTURE(i, plan.zero_stage, plan.execution.overlaps_states, plan.sequence.ring, plan.pp_degree,
            plan.virtual_stages, plan.ep_degree, step.ranks.size());
    REQUIRE(step_ns(step.ranks, StepDetail::micro_batches) == step_ns(step.ranks, StepDetail::stages));
  }
}

TEST_CASE("Both levels of detail book the same work by cause, and it adds up") {
  RandomSteps steps(2);
  for (int i = 0; i < packsim_test::trials(2000); ++i) {
    const RandomStep step = steps.next();
    const std::vector<WorkTime> coarse = work_of(step, StepDetail::micro_batches);
    const std::vector<WorkTime> fine = work_of(step, StepDetail::stages);
    REQUIRE(coarse.size() == step.ranks.size() * static_cast<std::size_t>(step.plan.plan.pp_degree));
    REQUIRE(fine.size() == coarse.size());
    for (std::size_t lane = 0; lane < coarse.size(); ++lane) {
      REQUIRE(coarse[lane].by_cause_ns == fine[lane].by_cause_ns);
      REQUIRE(coarse[lane].total_ns == sum(coarse[lane].by_cause_ns));
      REQUIRE(fine[lane].total_ns == coarse[lane].total_ns);
    }
  }
}

TEST_CASE("A builder that is used again makes the same graph as a new one") {
  RandomSteps steps(3);
  for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
    StepBuilder used(detail, nullptr);
    OpGraph graph;
    OpEngine engine;
    for (int i = 0; i < packsim_test::trials(500); ++i) {
      const RandomStep step = steps.next();
      used.build(step.ranks, graph);
      REQUIRE(engine.run(graph, nullptr, {}, {}).ns == step_ns(step.ranks, detail));
    }
  }
}

TEST_CASE("A step takes no less than any of its GPUs works") {
  RandomSteps steps(4);
  for (int i = 0; i < packsim_test::trials(2000); ++i) {
    const RandomStep step = steps.next();
    const std::int64_t end_ns = step_ns(step.ranks, StepDetail::stages);
    for (const WorkTime& work : work_of(step, StepDetail::stages)) REQUIRE(end_ns >= work.total_ns);
  }
}

TEST_CASE("A longer pack, a slower GPU and one more rank never end a step earlier") {
  RandomSteps steps(5);
  for (int i = 0; i < packsim_test::trials(2000); ++i) {
    RandomStep step = steps.next();
    // What a full queue of launches takes is an estimate, which is not monotonic to the nanosecond.
    for (MicroBatchPrice& price : step.prices) price.host = {};
    const std::int64_t before_ns = step_ns(step.ranks, StepDetail::micro_batches);
    std::vector<RankWork> fewer = step.ranks;
    fewer.pop_back();
    REQUIRE(step_ns(fewer, StepDetail::micro_batches) <= before_ns);
    step.prices.front().attention_backward.compute_ns += 7;
    const std::int64_t longer_ns = step_ns(step.ranks, StepDetail::micro_batches);
    REQUIRE(longer_ns >= before_ns);
    for (double& slow_down : step.ranks.back().stage_slow_down) slow_down += 0.5;
    for (double& slow_down : step.ranks.back().pass_slow_down) slow_down += 0.5;
    REQUIRE(step_ns(step.ranks, StepDetail::micro_batches) >= longer_ns);
  }
}

TEST_CASE("Busy, exposed and idle time of a GPU add up to the step; only what it works makes it busy") {
  RandomSteps steps(6);
  StepBuilder builder(StepDetail::stages, nullptr);
  OpGraph graph(false);
  OpEngine engine;
  OpAccount account;
  int n_shorter = 0;
  for (int i = 0; i < packsim_test::trials(1000); ++i) {
    const RandomStep step = steps.next();
    builder.build(step.ranks, graph);
    const SimTime end = engine.run(graph, nullptr, {}, {});
    take_account(graph, engine, account);
    for (std::size_t lane = 0; lane < builder.work().size(); ++lane) {
      SimTime all = account.ranks[lane].idle;
      const NsByCause& work_ns = builder.work()[lane].by_cause_ns;
      for (std::size_t c = 0; c < kNCauses; ++c) {
        all += account.ranks[lane].busy[c] + account.ranks[lane].exposed[c];
        const auto cause = static_cast<Cause>(c);
        // Their kernels and exchanges share a cause.
        if (cause == Cause::sequence || cause == Cause::expert) continue;
        const bool is_exchange = cause == Cause::tensor || cause == Cause::states || cause == Cause::pipeline;
        const std::int64_t busy_ns = account.ranks[lane].busy[c].ns;
        // Waits for launches are shorter where a host got ahead.
        REQUIRE(busy_ns <= work_ns[c]);
        if (cause != Cause::host) REQUIRE(busy_ns == (is_exchange ? 0 : work_ns[c]));
        n_shorter += busy_ns < work_ns[c] && cause == Cause::host ? 1 : 0;
      }
      REQUIRE(all == end);
    }
  }
  CHECK(n_shorter > 0);
}

TEST_CASE("Wide links change no step") {
  RandomSteps steps(7);
  for (int i = 0; i < packsim_test::trials(2000); ++i) {
    const RandomStep step = steps.next();
    const Topology wide(one_gpu_nodes(step.plan.plan.n_gpus, 1e15));
    for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
      CAPTURE(i, step.plan.plan.n_gpus, step.plan.plan.ep_degree);
      REQUIRE(step_ns(step.ranks, detail, 1, &wide) == step_ns(step.ranks, detail));
    }
  }
}

TEST_CASE("Narrow links never end a step earlier") {
  RandomSteps steps(8);
  int n_slower = 0;
  for (int i = 0; i < packsim_test::trials(1000); ++i) {
    const RandomStep step = steps.next();
    const Topology narrow(one_gpu_nodes(step.plan.plan.n_gpus, 1e9));
    const std::int64_t alone_ns = step_ns(step.ranks, StepDetail::stages);
    const std::int64_t shared_ns = step_ns(step.ranks, StepDetail::stages, 1, &narrow);
    REQUIRE(shared_ns >= alone_ns);
    n_slower += shared_ns > alone_ns ? 1 : 0;
  }
  CHECK(n_slower > 0);
}

TEST_CASE("Computation that communication slows down ends between full speed and all of it slow") {
  RandomSteps steps(9);
  for (int i = 0; i < packsim_test::trials(1000); ++i) {
    const RandomStep step = steps.next();
    for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
      const std::int64_t full_ns = step_ns(step.ranks, detail);
      const std::int64_t slowed = step_ns(step.ranks, detail, 1.5);
      StepBuilder builder(detail, nullptr);
      OpGraph graph(false);
      builder.build(step.ranks, graph);
      REQUIRE(slowed >= full_ns);
      // Every operation is rounded up to a nanosecond.
      REQUIRE(2 * slowed <= 3 * full_ns + 2 * static_cast<std::int64_t>(graph.ops().size()));
    }
  }
}

TEST_CASE("No ranks, and ranks without micro-batches") {
  CHECK(step_ns({}, StepDetail::stages) == 0);
  PricedPlan plan;
  plan.plan.zero_stage = 1;
  plan.plan.n_gpus = 2;
  plan.chunks = {{.n_dense = 2, .has_embedding = true, .has_head = true}};
  plan.states = {
      {.units = {{.n_layers = 2, .gather_ns = 30, .reduce_ns = 10}}, .optimizer_ns = 5, .step_ns = 2}};
  const std::vector<RankWork> ranks(2, {.plan = &plan});
  // No gradients to exchange; the optimizer, the weights, the framework.
  CHECK(step_ns(ranks, StepDetail::micro_batches) == 5 + 30 + 2);
  CHECK(step_ns(ranks, StepDetail::stages) == 5 + 30 + 2);
}

TEST_CASE("What cannot be one step is refused") {
  PricedPlan one;
  one.chunks.resize(1);
  one.states.resize(1);
  PricedPlan two = one;
  two.plan.pp_degree = 2;
  two.plan.n_gpus = 2;
  two.chunks.resize(2);
  two.states.resize(2);
  StepBuilder builder(StepDetail::stages, nullptr);
  OpGraph graph;
  const std::vector<RankWork> mixed = {{.plan = &one}, {.plan = &two}};
  CHECK_THROWS_WITH(builder.build(mixed, graph), "expected ranks of equal pipelines in one step");
  two.plan.virtual_stages = 2;
  two.chunks.resize(4);
  two.states.resize(4);
  const TokenPrices tokens;
  const MicroBatchPrice price{.tokens = &tokens};
  const std::vector<RankWork> odd = {{.plan = &two, .micro_batches = {&price}}};
  CHECK_THROWS_AS(builder.build(odd, graph), std::invalid_argument);
}

}  // namespace
}  // namespace packsim
