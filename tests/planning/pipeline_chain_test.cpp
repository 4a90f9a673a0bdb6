#include "planning/bound/pipeline_chain.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "planning/bound/pass_units.hpp"
#include "planning/bound/pipeline_steps.hpp"

using namespace packsim;

namespace {

// Of micro-batches that take these times through all chunks of a stage.
struct StepPasses {
  std::vector<std::vector<double>> forward;  // [n_chunks][n_micro_batches]
  std::vector<std::vector<double>> backward;
};

// When the last pass of a step ends, if each runs as soon as it can.
double step_time(const PipelineSchedule& schedule, const PipelineShape& shape, const StepPasses& passes) {
  const auto n_stages = static_cast<std::size_t>(shape.n_stages);
  const std::size_t n_chunks = passes.forward.size();
  constexpr double kNotYet = -1;
  const auto n = static_cast<std::size_t>(shape.n_micro_batches);
  std::vector<std::vector<double>> forward(n_chunks, std::vector<double>(n, kNotYet));
  std::vector<std::vector<double>> backward = forward;
  std::vector<std::vector<PipelinePass>> orders;
  for (int stage = 0; stage < shape.n_stages; ++stage)
    orders.push_back(pipeline_order(schedule, shape, stage));
  std::vector<std::size_t> next(n_stages);
  std::vector<double> free(n_stages);
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (std::size_t stage = 0; stage < n_stages; ++stage) {
      if (next[stage] == orders[stage].size()) continue;
      const PipelinePass& pass = orders[stage][next[stage]];
      const std::size_t chunk = static_cast<std::size_t>(pass.chunk) * n_stages + stage;
      const auto i = static_cast<std::size_t>(pass.micro_batch);
      const double input = pass.is_forward         ? (chunk == 0 ? 0 : forward[chunk - 1][i])
                           : chunk + 1 == n_chunks ? forward[chunk][i]
                                                   : backward[chunk + 1][i];
      if (input == kNotYet) continue;
      free[stage] =
          std::max(free[stage], input) + (pass.is_forward ? passes.forward : passes.backward)[chunk][i];
      (pass.is_forward ? forward : backward)[chunk][i] = free[stage];
      ++next[stage];
      has_moved = true;
    }
  }
  return *std::ranges::max_element(free);
}

struct PipelineCase {
  const PipelineSchedule* schedule = nullptr;
  PipelineShape shape;
};

std::vector<PipelineCase> pipeline_cases() {
  std::vector<PipelineCase> all;
  for (const PipelineSchedule* schedule : pipeline_schedules()) {
    for (const int n_stages : {2, 3, 4}) {
      for (const int n : {1, 2, 3, 6, 12}) {
        const int multiple = schedule->needs_full_rounds ? n_stages : 1;
        all.push_back({schedule, {n_stages, std::max(schedule->fewest_chunks, 1), multiple * n}});
      }
    }
  }
  return all;
}

class Draws {
 public:
  double part() { return static_cast<double>(generator_() >> 8) * 0x1p-24; }
  int below(int n) { return static_cast<int>(generator_() % static_cast<std::uint32_t>(n)); }

 private:
  std::mt19937 generator_{11};
};

// Chunks of about the same size. The last stage is the reference.
PassShares random_shares(const PipelineShape& shape, Draws& draws) {
  PassShares shares;
  for (int chunk = 0; chunk < shape.n_stages * shape.chunks_per_stage; ++chunk) {
    const bool is_reference = chunk % shape.n_stages == shape.n_stages - 1;
    shares.chunks.push_back((is_reference ? 1 : 0.7 + 0.3 * draws.part()) / shape.chunks_per_stage);
  }
  for (int i = 0; i < 3; ++i) {
    const double forward = 0.2 + 0.3 * draws.part();
    shares.units.push_back({forward, 1 - forward + 0.1 * draws.part()});
  }
  return shares;
}

}  // namespace

TEST_CASE("No step of a pipeline is shorter than its chain, whatever the sizes of its micro-batches") {
  Draws draws;
  for (const PipelineCase& one : pipeline_cases()) {
    CAPTURE(one.schedule->name, one.shape.n_stages, one.shape.n_micro_batches);
    const PassShares shares = random_shares(one.shape, draws);
    const PipelineChain chain = pipeline_chain(*one.schedule, one.shape, shares);
    for (int i = 0; i < 200; ++i) {
      // Some are much larger than others. StepPasses take their overhead, and what is drawn on top.
      const double forward_s = draws.part() * draws.below(2);
      const double later_backward_s = draws.part() * draws.below(2);
      StepPasses passes{.forward = std::vector(shares.chunks.size(), std::vector<double>()), .backward = {}};
      passes.backward = passes.forward;
      double work = 0;
      for (int m = 0; m < one.shape.n_micro_batches; ++m) {
        const double own = draws.below(3) == 0 ? 20 * draws.part() : draws.part();
        const PassTimes& unit = shares.units[static_cast<std::size_t>(draws.below(3))];
        work += own;
        for (std::size_t chunk = 0; chunk < shares.chunks.size(); ++chunk) {
          const double more = draws.below(4) == 0 ? draws.part() : 0;
          passes.forward[chunk].push_back(shares.chunks[chunk] * unit.forward * own + forward_s + more);
          passes.backward[chunk].push_back(shares.chunks[chunk] * unit.backward * own +
                                           (m > 0 ? later_backward_s : 0));
        }
      }
      const double chain_s =
          chain.work * work + chain.n_forwards * forward_s + chain.n_later_backwards * later_backward_s;
      REQUIRE(chain_s <= step_time(*one.schedule, one.shape, passes) * (1 + 1e-12));
    }
  }
}

TEST_CASE("A single micro-batch goes through all chunks, forward and back") {
  const PassShares shares{.chunks = {0.5, 0.75, 1}, .units = {{0.25, 0.75}}};
  const PipelineChain chain = pipeline_chain(usual_schedule(1), {3, 1, 1}, shares);
  CHECK(chain.work == Approx(2.25));
  CHECK(chain.n_forwards == Approx(3));
  CHECK(chain.n_later_backwards == 0);
}

TEST_CASE("The chain is close to the best that paths can prove") {
  // Linear programs that minimise the step over all sizes: 1.2738 for 8 micro-batches and 1.1302 for 14 on 4
  // stages. Equal sizes take 1 + 3 / 8 and 1 + 3 / 14.
  const PassShares shares{.chunks = {1, 1, 1, 1}, .units = {{1.0 / 3, 2.0 / 3}}};
  CHECK(pipeline_chain(usual_schedule(1), {4, 1, 8}, shares).work == Approx(1.2738).margin(0.01));
  CHECK(pipeline_chain(usual_schedule(1), {4, 1, 14}, shares).work == Approx(1.1302).margin(0.01));
  // All times are chosen, not only sizes: 1.1212 where a quarter to a third of the time is forward.
  const PassShares range{.chunks = {1, 1, 1, 1}, .units = {{0.25, 0.75}, {0.33, 0.67}}};
  CHECK(pipeline_chain(usual_schedule(1), {4, 1, 14}, range).work == Approx(1.1212).margin(0.01));
}

TEST_CASE("Every step of a pipeline is above one of the lines, for any number of micro-batches") {
  Draws draws;
  for (const PipelineSchedule* schedule : pipeline_schedules()) {
    CAPTURE(schedule->name);
    ParallelPlan plan{.n_gpus = 8, .pp_degree = 4, .virtual_stages = schedule->fewest_chunks};
    plan.pipeline_schedule = schedule;
    const PassShares shares = random_shares(plan.pipeline_shape(4), draws);
    const PassCosts costs{.forward_s = 0.05, .later_backward_s = 0.01};
    const PipelineSteps steps = pipeline_steps(
        plan, {.chunks = shares.chunks, .full_units = shares.units, .short_units = shares.units}, costs);
    for (const int n : {1, 2, 3, 4, 5, 8, 40, 128, 140, 200}) {
      if (schedule->needs_full_rounds && n % 4 != 0) continue;
      StepPasses passes{.forward = std::vector(shares.chunks.size(), std::vector<double>()), .backward = {}};
      passes.backward = passes.forward;
      double work = 0;
      for (int m = 0; m < n; ++m) {
        const double own = draws.part();
        work += own;
        for (std::size_t chunk = 0; chunk < shares.chunks.size(); ++chunk) {
          passes.forward[chunk].push_back(shares.chunks[chunk] * shares.units[0].forward * own +
                                          costs.forward_s);
          passes.backward[chunk].push_back(shares.chunks[chunk] * shares.units[0].backward * own +
                                           (m > 0 ? costs.later_backward_s : 0));
        }
      }
      const double step_s = step_time(*schedule, plan.pipeline_shape(n), passes);
      double least_s = 1e9;
      // Work in a step that is not full counts less or more.
      const double counted = n < 4 ? steps.short_factor * work : work;
      for (const StepLine& line : steps.lines)
        least_s = std::min(least_s, line.work * counted + line.fixed_s);
      CAPTURE(n, work);
      CHECK(least_s <= step_s * (1 + 1e-12));
    }
  }
}

TEST_CASE("The passes that may be least are the corners of a hull") {
  const std::vector<PassTimes> least =
      least_passes({{3, 1}, {1, 3}, {2, 2.5}, {2, 1.5}, {4, 1}, {1, 3}, {1.5, 2.25}});
  // (1.5, 2.25) lies on the line between two corners.
  REQUIRE(least.size() == 3);
  CHECK(least[0].backward == 3);
  CHECK(least[1].forward == 2);
  CHECK(least[2].forward == 3);
  CHECK(least_passes({}).empty());
}
