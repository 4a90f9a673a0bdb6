#include "experiment/costs/run_planning.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace packsim {
namespace {

// Two global batches of one pack each, which took 1 + 2 s and 5 s to plan; two epochs that begin with the
// second.
PlannedStrategy two_batches() {
  PlannedStrategy plan;
  plan.packing.planned.placed = {{.pack = 0}, {.pack = 1}};
  plan.packing.planned.iterations = {{0, 1}, {1, 1}};
  plan.schedule.placed = {{.pack = 1}, {.pack = 0}, {.pack = 1}, {.pack = 0}};
  plan.schedule.iterations = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
  for (const auto& [batch, wall_s] : {std::pair{0, 1.0}, std::pair{0, 2.0}, std::pair{1, 5.0}}) {
    SolveRecord solve;
    solve.batch = batch;
    solve.wall_s = wall_s;
    plan.solves.push_back(solve);
  }
  return plan;
}

const std::vector<double> kSteps_s = {4, 4, 4, 4};

StrategyResult result_of(const OptionValues& options, const PlannedStrategy& plan) {
  StrategySpec spec;
  spec.options = options;
  StrategyResult result;
  result.times = RunTimes{};
  result.times->gpu_days = 10;
  set_planning(spec, plan, kSteps_s, 32, result);
  return result;
}

TEST_CASE("a set time to plan is charged to the run, over and above its GPU-days") {
  // The first plan keeps the GPUs waiting for 6 s; each other one starts with the step before it, which takes
  // 4 of its 6 s: 6 + 3 x 2 = 12 s in all.
  OptionValues options;
  options.set("solve_s", 6);
  const StrategyResult result = result_of(options, two_batches());
  CHECK(result.planning->exposed_s == Approx(12.0 / 4));
  CHECK(result.planning->gpu_days == Approx(10 + 12.0 / 86400 * 32));
  CHECK_FALSE(result.measured.planning_exposed_s);
  CHECK(result.measured.solve_mean_s == Approx((3.0 + 5.0) / 2));
}

TEST_CASE("more planners that look further ahead hide what one cannot") {
  // Two processes: after 6 s for the first two plans, a plan every 3 s at most, less than a step.
  OptionValues options;
  options.set("solve_s", 6);
  options.set("planner_processes", 2);
  options.set("look_ahead_batches", 2);
  CHECK(result_of(options, two_batches()).planning->exposed_s == Approx(6.0 / 4));
  // Without a look-ahead every plan is waited for.
  options.set("look_ahead_batches", 0);
  CHECK(result_of(options, two_batches()).planning->exposed_s == Approx(6));
}

TEST_CASE("measured times to plan go with their batches, and into the timings only") {
  // In training order plans take 5, 3, 5, 3 s. 5 s at first; then steps hide 4 of 5 s once: 6 s in all.
  const StrategyResult result = result_of({}, two_batches());
  CHECK(result.measured.planning_exposed_s == Approx(6.0 / 4));
  CHECK(result.measured.solve_mean_s == Approx(4));
  CHECK_FALSE(result.planning);
}

TEST_CASE("a strategy that solves nothing has no planner") {
  OptionValues options;
  options.set("solve_s", 6);
  const StrategyResult result = result_of(options, {});
  CHECK_FALSE(result.planning);
  CHECK_FALSE(result.measured.solve_mean_s);
}

}  // namespace
}  // namespace packsim
