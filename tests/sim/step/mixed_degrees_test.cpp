// Iterations in which packs of several SP degrees are trained side by side and one after another.

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "sim/run/simulate.hpp"
#include "sim/run/trace_step.hpp"
#include "tests/sim/step/random_steps.hpp"

namespace packsim {
namespace {

constexpr int kGpus = 16;
constexpr int kLayers = 3;
constexpr std::int64_t kReduce_ns = 200;
constexpr std::int64_t kOptimizer_ns = 70;
constexpr std::int64_t kGather_ns = 300;

// Groups of SP degree 1, 2, 4 and 8, of which group g checkpoints g layers. Every pack's exchanges and
// attention take times of their own.
struct MixedRun {
  std::vector<TokenPrices> tokens;
  std::vector<PricedGroup> groups;
  Schedule schedule;

  MixedRun(std::mt19937& generator, int zero_stage) : tokens(4) {
    const auto below = [&](int n) {
      return static_cast<std::int64_t>(generator() % static_cast<unsigned>(n));
    };
    schedule.n_gpus = kGpus;
    for (int g = 0; g < 4; ++g) {
      const int sp = 1 << g;
      LayerPrices& layer = tokens[static_cast<std::size_t>(g)].layers[0];
      for (PricedPhase* phase : {&layer.forward, &layer.recompute, &layer.backward}) {
        PassSegment exchange = exchanged(sp == 1 ? 0 : 10 + below(50), Cause::sequence);
        exchange.gpus = sp;
        *phase = phase_of({computed(100 + below(400)), exchange, attended(), computed(50)});
      }
      PricedGroup& group = groups.emplace_back();
      group.plan.plan = {.n_gpus = kGpus,
                         .sequence = {.ulysses = sp},
                         .zero_stage = zero_stage,
                         .execution = {.overlaps_states = false},
                         .gc_layers = g};
      group.plan.chunks = {{.n_dense = kLayers, .n_checkpointed = std::min(g, kLayers)}};
      group.plan.states = {
          {.units = {{.n_layers = kLayers, .gather_ns = kGather_ns, .reduce_ns = kReduce_ns}},
           .optimizer_ns = kOptimizer_ns}};
      for (int p = 0; p < 4; ++p) {
        group.packs.push_back({.tokens = &tokens[static_cast<std::size_t>(g)],
                               .attention_forward = ring_of(below(2000)),
                               .attention_backward = ring_of(below(2000)),
                               .overhead_ns = 17});
      }
      schedule.groups.push_back({.gpus_per_pack = sp, .n_dp_ranks = kGpus / sp});
    }
  }

  // Some of the GPUs' aligned blocks get a pack in every round; all wait before each of the `barriers`.
  void add_iteration(std::mt19937& generator, unsigned barriers = 0) {
    const auto first = static_cast<std::uint32_t>(schedule.placed.size());
    const std::uint32_t n_rounds = 1 + generator() % 4;
    for (std::uint32_t round = 0; round < n_rounds; ++round) {
      for (std::uint32_t gpu = 0; gpu < kGpus;) {
        std::uint32_t g = generator() % 4;
        while (gpu % (1U << g) != 0) --g;
        const bool is_there = generator() % 4 != 0 || (round == 0 && gpu == 0);
        if (is_there) {
          schedule.placed.push_back({.pack = static_cast<std::uint32_t>(generator() % 4),
                                     .first_gpu = gpu,
                                     .group = static_cast<std::uint16_t>(g),
                                     .round = static_cast<std::uint16_t>(round),
                                     .after_barrier = round > 0 && (barriers >> round) % 2 == 1});
        }
        gpu += 1U << g;
      }
    }
    schedule.iterations.push_back(
        {.first_placed = first, .n_placed = static_cast<std::uint32_t>(schedule.placed.size()) - first});
  }

  std::int64_t pack_ns(const PlacedPack& placed) const {
    const PricedGroup& group = groups[placed.group];
    const MicroBatchPrice& price = group.packs[placed.pack];
    return forward_time(price, group.plan.chunks[0]).total_ns +
           backward_time(price, group.plan.chunks[0]).total_ns;
  }
};

// A pack starts when all of its GPUs are free and all packs before the latest barrier have ended.
struct NaiveStep {
  std::int64_t end_ns = 0;
  double busy_gpu_ns = 0;
};
NaiveStep naive_step(const MixedRun& run, const Iteration& iteration) {
  std::vector<std::int64_t> free_ns(kGpus);
  std::int64_t ended_ns = 0;  // packs before the barrier
  int round = 0;
  NaiveStep step;
  for (const PlacedPack& placed : run.schedule.packs(iteration)) {
    if (placed.round != round && placed.after_barrier) ended_ns = step.end_ns;
    round = placed.round;
    const int degree = run.schedule.groups[placed.group].gpus_per_pack;
    const auto gpus = std::span(free_ns).subspan(placed.first_gpu, static_cast<std::size_t>(degree));
    const std::int64_t start = std::max(*std::ranges::max_element(gpus), ended_ns);
    const std::int64_t end = start + run.pack_ns(placed);
    std::ranges::fill(gpus, end);
    step.end_ns = std::max(step.end_ns, end);
    step.busy_gpu_ns += static_cast<double>(degree * run.pack_ns(placed));
  }
  return step;
}

TEST_CASE("A pack of several GPUs starts when the last of them is free, at both levels of detail") {
  std::mt19937 generator(7);
  for (int trial = 0; trial < 200; ++trial) {
    MixedRun run(generator, 1);
    for (int i = 0; i < 4; ++i) run.add_iteration(generator, trial % 2 == 1 ? generator() % 16 : 0);
    for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
      const SimulatedRun simulated = simulate(run.schedule, run.groups, {.detail = detail});
      double busy = 0;
      double all = 0;
      for (std::size_t i = 0; i < run.schedule.iterations.size(); ++i) {
        const NaiveStep naive = naive_step(run, run.schedule.iterations[i]);
        const std::int64_t step_ns = naive.end_ns + kReduce_ns + kOptimizer_ns + kGather_ns;
        REQUIRE(simulated.step_s[i] == Approx(1e-9 * static_cast<double>(step_ns)).epsilon(1e-12));
        busy += naive.busy_gpu_ns + kGpus * static_cast<double>(kOptimizer_ns + kGather_ns);
        all += kGpus * static_cast<double>(step_ns);
      }
      // What GPUs wait for, they wait for others: gradients are the only exchange that idle ones may see.
      const double worked = 1 - simulated.idle_fraction;
      REQUIRE(worked * all >= Approx(busy).epsilon(1e-9));
      REQUIRE(worked * all <= busy + kGpus * 4.0 * kReduce_ns + 1);
    }
  }
}

TEST_CASE("Merging ranks that do the same changes nothing, with mixed degrees too") {
  std::mt19937 generator(11);
  for (int trial = 0; trial < 50; ++trial) {
    MixedRun run(generator, trial % 2);
    for (int i = 0; i < 4; ++i) run.add_iteration(generator, trial % 3 == 0 ? generator() % 16 : 0);
    const SimulatedRun merged = simulate(run.schedule, run.groups);
    const SimulatedRun all = simulate(run.schedule, run.groups, {.merges_alike = false});
    REQUIRE(merged.step_s == all.step_s);
    REQUIRE(merged.idle_fraction == Approx(all.idle_fraction).epsilon(1e-9));
    for (std::size_t c = 0; c < kNCauses; ++c)
      REQUIRE(merged.fraction[c] == Approx(all.fraction[c]).epsilon(1e-9));
  }
}

// Two GPUs of one SP-2 pack and one round of SP-1 packs before it.
MixedRun shared_after_single(std::mt19937& generator, int zero_stage) {
  MixedRun run(generator, zero_stage);
  run.schedule.placed = {{.pack = 0, .first_gpu = 0, .group = 0, .round = 0},
                         {.pack = 1, .first_gpu = 0, .group = 1, .round = 1}};
  run.schedule.iterations = {{.n_placed = 2}};
  return run;
}

TEST_CASE("A GPU without a pack in a round still exchanges states with the others in it") {
  std::mt19937 generator(13);
  const MixedRun run = shared_after_single(generator, 3);
  // GPU 1 computes nothing in round 0, but gathers before both passes and reduces behind the second.
  std::int64_t expected_ns = kOptimizer_ns;
  for (const PlacedPack& placed : run.schedule.placed)
    expected_ns += kGather_ns + kGather_ns + kReduce_ns + run.pack_ns(placed);
  for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
    const SimulatedRun simulated = simulate(run.schedule, run.groups, {.detail = detail});
    CHECK(simulated.step_s[0] == Approx(1e-9 * static_cast<double>(expected_ns)).epsilon(1e-12));
  }
  for (const int zero_stage : {0, 1, 2})
    CHECK_NOTHROW(simulate(shared_after_single(generator, zero_stage).schedule,
                           shared_after_single(generator, zero_stage).groups));
}

TEST_CASE("Barriers between rounds and exchange of states in every round do not wait for each other") {
  std::mt19937 generator(31);
  for (int trial = 0; trial < 200; ++trial) {
    MixedRun run(generator, 2 + trial % 2);
    for (int i = 0; i < 3; ++i) run.add_iteration(generator, static_cast<unsigned>(generator()));
    CAPTURE(trial);
    REQUIRE_NOTHROW(simulate(run.schedule, run.groups));
  }
}

TEST_CASE("Packs of a round with other recomputed layers cannot share experts, whose ranks would not meet") {
  std::mt19937 generator(37);
  MixedRun run(generator, 0);
  for (PricedGroup& group : run.groups) group.plan.plan.ep_degree = kGpus;
  run.schedule.placed = {{.pack = 0, .first_gpu = 0, .group = 0}, {.pack = 0, .first_gpu = 2, .group = 1}};
  run.schedule.iterations = {{.first_placed = 0, .n_placed = 2}};
  CHECK_THROWS_WITH(
      simulate(run.schedule, run.groups),
      "iterations[0], round 0: expected as many checkpointed layers in all packs, whose ranks share experts, "
      "got 0 and 1");
}

TEST_CASE("Under ZeRO 3 all GPUs gather each round's weights together") {
  std::mt19937 generator(17);
  MixedRun run(generator, 3);
  // Round 0: SP 2 on GPUs 0 and 1, SP 1 on all others; round 1: SP 8 on both halves.
  run.schedule.placed = {{.pack = 0, .first_gpu = 0, .group = 1, .round = 0}};
  for (std::uint32_t gpu = 2; gpu < kGpus; ++gpu)
    run.schedule.placed.push_back({.pack = gpu % 4, .first_gpu = gpu, .group = 0, .round = 0});
  for (const std::uint32_t gpu : {0U, 8U})
    run.schedule.placed.push_back({.pack = gpu / 8, .first_gpu = gpu, .group = 3, .round = 1});
  run.schedule.iterations = {{.n_placed = static_cast<std::uint32_t>(run.schedule.placed.size())}};
  // Nothing overlaps: a gather before each pass and a reduction behind it, for which all wait, in two rounds.
  std::int64_t expected_ns = kOptimizer_ns;
  for (const int round : {0, 1}) {
    std::int64_t forward_ns = 0;
    std::int64_t backward_ns = 0;
    for (const PlacedPack& placed : run.schedule.placed) {
      if (placed.round != round) continue;
      const PricedGroup& group = run.groups[placed.group];
      const MicroBatchPrice& price = group.packs[placed.pack];
      forward_ns = std::max(forward_ns, forward_time(price, group.plan.chunks[0]).total_ns);
      backward_ns = std::max(backward_ns, backward_time(price, group.plan.chunks[0]).total_ns);
    }
    expected_ns += kGather_ns + forward_ns + kGather_ns + backward_ns + kReduce_ns;
  }
  // The framework's overhead comes before the gather, on all alike.
  for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
    const SimulatedRun simulated = simulate(run.schedule, run.groups, {.detail = detail});
    CHECK(simulated.step_s[0] == Approx(1e-9 * static_cast<double>(expected_ns)).epsilon(1e-12));
  }
}

TEST_CASE("A pack is as slow as the slowest of all its GPUs, whichever rank they are of") {
  std::mt19937 generator(19);
  MixedRun run = shared_after_single(generator, 1);
  const SimulatedRun even = simulate(run.schedule, run.groups);
  Variability variability;
  variability.slow_ranks = {{.rank = 1, .factor = 2}};
  const SimulatedRun slow = simulate(run.schedule, run.groups, {.variability = variability});
  // GPU 1 has nothing of the first pack: that takes what it takes. Of the second, kernels take twice as long.
  const PricedGroup& group = run.groups[1];
  const MicroBatchPrice& price = group.packs[1];
  const std::int64_t slowed = forward_time(price, group.plan.chunks[0], 2).total_ns +
                              backward_time(price, group.plan.chunks[0], 2).total_ns;
  const std::int64_t first = run.pack_ns(run.schedule.placed[0]);
  const std::int64_t optimizer = 2 * kOptimizer_ns;
  CHECK(slow.step_s[0] ==
        Approx(1e-9 * static_cast<double>(first + slowed + kReduce_ns + optimizer + kGather_ns)));
  CHECK(even.step_s[0] < slow.step_s[0]);
}

TEST_CASE("Where links are shared, the lanes of a pack exchange once and stay together") {
  std::mt19937 generator(23);
  for (int trial = 0; trial < 20; ++trial) {
    MixedRun run(generator, 1);
    for (int i = 0; i < 2; ++i) run.add_iteration(generator);
    Cluster cluster;
    cluster.nodes = 2;
    cluster.gpus_per_node = 8;
    cluster.network = {.nvlink_bytes_per_s = 1e9, .nics_per_node = 8, .nic_bytes_per_s = 1e9};
    const Topology topology(cluster);
    // A byte a nanosecond is what a GPU's links carry; each exchange alone takes at most 0.8 of that. Were it
    // made by each of the lanes that share a pack, it would take more than there is.
    for (TokenPrices& prices : run.tokens) {
      LayerPrices& layer = prices.layers[0];
      for (PricedPhase* phase : {&layer.forward, &layer.recompute, &layer.backward}) {
        for (PassSegment& stage : phase->segments) stage.bytes = stage.time_ns * 8 / 10;
      }
    }
    const SimulatedRun alone = simulate(run.schedule, run.groups, {.detail = StepDetail::stages});
    const SimulatedRun contended =
        simulate(run.schedule, run.groups, {.detail = StepDetail::stages, .topology = &topology});
    for (std::size_t i = 0; i < alone.step_s.size(); ++i)
      REQUIRE(contended.step_s[i] == Approx(alone.step_s[i]).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace packsim
