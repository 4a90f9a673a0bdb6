// The what-if in which no rank waits for another (SimulationOptions::ranks_wait).
#include <catch2/catch.hpp>

#include "sim/run/simulate.hpp"
#include "sim/run/trace_step.hpp"
#include "tests/sim/run/hand_schedule.hpp"
#include "tests/sim/run/random_run.hpp"

namespace packsim {
namespace {

using Catch::Contains;

// Packs on 1 and on 2 of two GPUs, of one layer that computes nothing but attention: 50 + 50, 200 + 100 and
// 300 + 100 ns.
struct SmallRun {
  TokenPrices tokens;
  std::vector<PricedGroup> groups;
  Schedule schedule;

  SmallRun() {
    tokens.layers[0].forward = phase_of({attended()});
    tokens.layers[0].backward = phase_of({attended()});
    schedule.n_gpus = 2;
    for (const int sp : {1, 2}) {
      PricedGroup& group = groups.emplace_back();
      group.plan.plan = {
          .n_gpus = 2, .sequence = {.ulysses = sp}, .zero_stage = 1, .execution = {.overlaps_states = false}};
      group.plan.chunks = {{.n_dense = 1}};
      group.plan.states = {{.units = {{.n_layers = 1, .gather_ns = 300, .reduce_ns = 200}},
                            .optimizer_ns = 70,
                            .step_ns = 11}};
      for (const auto& [forward, backward] : {std::pair(50, 50), std::pair(200, 100), std::pair(300, 100)})
        group.packs.push_back({.tokens = &tokens,
                               .attention_forward = ring_of(forward),
                               .attention_backward = ring_of(backward)});
      schedule.groups.push_back({.gpus_per_pack = sp, .n_dp_ranks = 2 / sp, .micro_batches_per_rank = 2});
    }
  }
};

constexpr double kNs = 1e-9;

}  // namespace

TEST_CASE("Without waits a step takes what its GPUs take on average") {
  SmallRun small;
  add_iteration(small.schedule, 0, std::vector<std::uint32_t>{0, 1});
  const SimulatedRun waits = simulate(small.schedule, small.groups);
  // The slower GPU computes 300 ns; then both reduce (200), update (70), gather (300) and end the step (11).
  CHECK(waits.total_s == Approx(kNs * (300 + 581)));
  CHECK(waits.idle_fraction == Approx(200.0 / (2 * 881)));
  const SimulatedRun run = simulate(small.schedule, small.groups, {.ranks_wait = false});
  // 100 + 581 ns on one GPU, 300 + 581 on the other.
  CHECK(run.step_s == std::vector{kNs * 781});
  CHECK(run.total_s == Approx(kNs * 781));
  CHECK(run.idle_fraction == 0);
  // 2 x 500 ns of 2 x 781 for gradients and weights.
  CHECK(run.fraction[static_cast<std::size_t>(Cause::states)] == Approx(500.0 / 781));
}

TEST_CASE("Without waits a pack that several GPUs share starts on each when it has come that far") {
  SmallRun small;
  // GPU 0 has the packs of 100 and GPU 1 of 300 ns; then both share one of 400.
  small.schedule.placed = {{.pack = 0, .first_gpu = 0, .group = 0, .round = 0},
                           {.pack = 1, .first_gpu = 1, .group = 0, .round = 0},
                           {.pack = 2, .first_gpu = 0, .group = 1, .round = 1}};
  small.schedule.iterations = {{.first_placed = 0, .n_placed = 3}};
  CHECK(simulate(small.schedule, small.groups).total_s == Approx(kNs * (300 + 400 + 581)));
  // The mean of 100 + 400 + 581 and 300 + 400 + 581 ns.
  const SimulatedRun run = simulate(small.schedule, small.groups, {.ranks_wait = false});
  CHECK(run.total_s == Approx(kNs * (200 + 400 + 581)));
  CHECK(run.idle_fraction == Approx(0).margin(1e-12));
}

TEST_CASE("Without waits GPUs do the same as with them, less the time in which they wait") {
  RandomSteps steps(31);
  std::mt19937 generator(31);
  int n_compared = 0;
  for (int i = 0; i < 1000; ++i) {
    const RandomRun random = random_run(steps, generator);
    const bool has_pipeline = std::ranges::any_of(
        random.groups, [](const PricedGroup& group) { return group.plan.plan.pp_degree > 1; });
    if (has_pipeline) {
      CHECK_THROWS_WITH(simulate(random.schedule, random.groups, {.ranks_wait = false}),
                        Contains("expected ranks that wait for each other in a pipeline, got pp_degree"));
      continue;
    }
    const SimulatedRun waits = simulate(random.schedule, random.groups);
    const SimulatedRun run = simulate(random.schedule, random.groups, {.ranks_wait = false});
    REQUIRE(run.step_s.size() == waits.step_s.size());
    for (std::size_t k = 0; k < run.step_s.size(); ++k) REQUIRE(run.step_s[k] <= waits.step_s[k] + 1e-9);
    const SimulatedRun one_by_one =
        simulate(random.schedule, random.groups, {.merges_alike = false, .ranks_wait = false});
    REQUIRE(one_by_one.total_s == Approx(run.total_s).margin(1e-9 * static_cast<double>(run.step_s.size())));
    n_compared += run.step_s.empty() ? 0 : 1;
  }
  CHECK(n_compared >= 100);
}

TEST_CASE("Where waits are what is simulated, they cannot be left out") {
  SmallRun small;
  add_iteration(small.schedule, 0, std::vector<std::uint32_t>{0, 1});
  CHECK_THROWS_WITH(
      simulate(small.schedule, small.groups, {.detail = StepDetail::stages, .ranks_wait = false}),
      Contains("expected ranks that wait for each other at op level"));
  CHECK_THROWS_WITH(trace_step(small.schedule, small.groups, {.ranks_wait = false}, 0),
                    Contains("expected ranks that wait for each other in a trace"));
}

}  // namespace packsim
