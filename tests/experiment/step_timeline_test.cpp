#include "experiment/results/step_timeline.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace packsim;

namespace {

TracedOp op(std::uint32_t lane, StreamKind kind, std::int64_t start, std::int64_t transfer_start,
            std::int64_t end) {
  return {.rank = lane,
          .stream = kind == StreamKind::compute ? 0U : 1U,
          .stream_kind = kind,
          .cause = Cause::linear,
          .collective = kind == StreamKind::compute ? Op::kLocal : 0U,
          .start = {start},
          .transfer_start = {transfer_start},
          .end = {end}};
}

struct Expected {
  Activity activity;
  int first;
  int end;
};

void check_spans(const TimelineLane& lane, const std::vector<Expected>& expected) {
  REQUIRE(lane.spans.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(lane.spans[i].activity == expected[i].activity);
    CHECK(lane.spans[i].first_tick == expected[i].first);
    CHECK(lane.spans[i].end_tick == expected[i].end);
  }
}

}  // namespace

TEST_CASE("A timeline shows passes, what computation does not hide, and waits") {
  // A step of 1000 ns is 500 ticks of 2 ns.
  TracedStep step;
  step.end = {1000};
  step.lanes = {{.rank = 0}, {.rank = 1}};
  // Rank 0: forward to 200, backward to 600, a transfer from 500 of which 600 to 800 is not hidden,
  // optimizer.
  step.ops = {
      op(0, StreamKind::compute, 0, 0, 200), op(0, StreamKind::compute, 200, 200, 600),
      op(0, StreamKind::communication, 500, 500, 800), op(0, StreamKind::compute, 800, 800, 1000),
      // Rank 1: forward to 100, then it waits for rank 0, transfers with it, and has nothing to update.
      op(1, StreamKind::compute, 0, 0, 100), op(1, StreamKind::communication, 100, 500, 800)};
  step.passes = {{.lane = 0, .is_forward = true, .start = {0}, .end = {200}},
                 {.lane = 0, .is_forward = false, .start = {200}, .end = {600}},
                 {.lane = 1, .is_forward = true, .start = {0}, .end = {100}}};
  const StepTimeline timeline = step_timeline(step, 32);
  CHECK(timeline.step_s == Approx(1e-6));
  CHECK(timeline.n_lanes == 2);
  REQUIRE(timeline.lanes.size() == 2);
  check_spans(timeline.lanes[0], {{Activity::forward, 0, 100},
                                  {Activity::backward, 100, 300},
                                  {Activity::exchange, 300, 400},
                                  {Activity::update, 400, 500}});
  check_spans(timeline.lanes[1], {{Activity::forward, 0, 50},
                                  {Activity::waiting, 50, 250},
                                  {Activity::exchange, 250, 400},
                                  {Activity::waiting, 400, 500}});
}

TEST_CASE("A tick shows what takes most of it, and of many lanes evenly spaced ones are shown") {
  TracedStep step;
  step.end = {500};  // ticks of 1 ns
  for (int rank = 0; rank < 9; ++rank) step.lanes.push_back({.rank = rank});
  const StepTimeline timeline = step_timeline(step, 3);
  REQUIRE(timeline.lanes.size() == 3);
  CHECK(timeline.lanes[1].gpus.rank == 4);
  CHECK(timeline.lanes[2].gpus.rank == 8);
  check_spans(timeline.lanes[0], {{Activity::waiting, 0, 500}});
  CHECK(timeline.n_lanes == 9);

  // Ticks of 10 ns: 14 ns of forward are the first tick and less than half of the second.
  step.end = {5000};
  step.lanes.resize(1);
  step.ops = {op(0, StreamKind::compute, 0, 0, 14)};
  step.passes = {{.lane = 0, .is_forward = true, .start = {0}, .end = {14}}};
  check_spans(step_timeline(step, 3).lanes[0], {{Activity::forward, 0, 1}, {Activity::waiting, 1, 500}});
}

TEST_CASE("A step of no time has no lanes") {
  TracedStep step;
  step.lanes = {{.rank = 0}};
  CHECK(step_timeline(step, 3).lanes.empty());
}
