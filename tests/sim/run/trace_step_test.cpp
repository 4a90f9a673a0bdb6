#include "sim/run/trace_step.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "sim/run/simulate.hpp"
#include "tests/sim/run/random_run.hpp"

namespace packsim {

TEST_CASE("A traced step is the simulated one, and its passes are those of every micro-batch and chunk") {
  std::mt19937 generator(7);
  RandomSteps steps(11);
  int n_traced = 0;
  std::size_t n_passes = 0;
  std::size_t n_all_passes = 0;
  for (int i = 0; i < 60; ++i) {
    const RandomRun random = random_run(steps, generator);
    const SimulationOptions options{.detail = StepDetail::stages, .merges_alike = false};
    const SimulatedRun run = simulate(random.schedule, random.groups, options);
    for (std::size_t at = 0; at < random.schedule.iterations.size(); ++at) {
      const TracedStep step = trace_step(random.schedule, random.groups, options, at);
      ++n_traced;
      REQUIRE(to_seconds(step.end) == Approx(run.step_s[at]).epsilon(1e-12));
      const Iteration& iteration = random.schedule.iterations[at];
      const std::uint32_t group = random.schedule.packs(iteration).front().group;
      const ParallelPlan& plan = random.groups[group].plan.plan;
      const std::size_t n_chunks = random.groups[group].plan.chunks.size();
      REQUIRE(step.lanes.size() ==
              static_cast<std::size_t>(random.schedule.groups[group].n_dp_ranks * plan.pp_degree));
      // Some made-up passes compute nothing.
      REQUIRE(step.passes.size() <= 2 * n_chunks * iteration.n_placed);
      n_passes += step.passes.size();
      n_all_passes += 2 * n_chunks * iteration.n_placed;

      // Passes of a lane follow each other, and a micro-batch comes back after it has gone.
      std::map<std::uint32_t, SimTime> done;
      std::map<std::tuple<int, std::uint32_t, std::uint32_t>, SimTime> forward_end;
      for (const TracedPass& pass : step.passes) {
        REQUIRE(pass.start >= done[pass.lane]);
        REQUIRE(pass.end >= pass.start);
        REQUIRE(pass.end <= step.end);
        done[pass.lane] = pass.end;
        const std::tuple key(step.lanes[pass.lane].rank, pass.micro_batch, pass.chunk);
        if (pass.is_forward) {
          forward_end[key] = pass.end;
        } else if (forward_end.contains(key)) {
          REQUIRE(pass.start >= forward_end[key]);
        }
      }
      for (const TracedOp& op : step.ops) {
        REQUIRE(op.rank < step.lanes.size());
        REQUIRE(op.start <= op.transfer_start);
        REQUIRE(op.transfer_start <= op.end);
        REQUIRE(op.end <= step.end);
      }
    }
  }
  CHECK(n_traced > 60);
  CHECK(10 * n_passes > 9 * n_all_passes);
}

TEST_CASE("A step that the schedule does not have cannot be traced") {
  std::mt19937 generator(7);
  RandomSteps steps(11);
  const RandomRun random = random_run(steps, generator);
  CHECK_THROWS_AS(trace_step(random.schedule, random.groups, {}, random.schedule.iterations.size()),
                  std::out_of_range);
}

}  // namespace packsim
