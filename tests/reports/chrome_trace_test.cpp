#include "reports/formats/chrome_trace.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

using namespace packsim;
using nlohmann::json;

namespace {

// Two ranks of four GPUs: rank 1 is later to their collective.
TracedStep two_ranks() {
  TracedStep step;
  step.lanes = {{.rank = 0, .first_gpu = 0, .n_gpus = 4}, {.rank = 1, .first_gpu = 4, .n_gpus = 4}};
  const auto op = [](std::uint32_t rank, StreamId stream, Cause cause, std::int64_t start, std::int64_t end) {
    return TracedOp{.rank = rank,
                    .stream = stream,
                    .cause = cause,
                    .start = {start},
                    .transfer_start = {start},
                    .end = {end}};
  };
  const auto meeting = [&](std::uint32_t rank, StreamId stream, std::int64_t start) {
    TracedOp joined = op(rank, stream, Cause::states, start, 9000);
    joined.stream_kind = StreamKind::communication;
    joined.collective = 5;
    joined.transfer_start = {7001};
    return joined;
  };
  step.ops = {op(0, 0, Cause::linear, 0, 1500), op(0, 0, Cause::attention, 1500, 4000), meeting(0, 1, 4000),
              op(1, 2, Cause::linear, 0, 7001), op(1, 2, Cause::recompute, 7001, 7001), meeting(1, 3, 7001)};
  step.passes = {{.lane = 0, .stream = 0, .chunk = 1, .micro_batch = 2, .start = {0}, .end = {4000}},
                 {.lane = 1, .stream = 2, .is_forward = false, .start = {0}, .end = {7001}}};
  step.end = {9000};
  return step;
}

std::vector<json> spans(const json& trace) {
  std::vector<json> spans;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
  }
  return spans;
}

}  // namespace

TEST_CASE("A trace names its lanes and streams, and has every span at its nanosecond") {
  const json trace = json::parse(to_chrome_trace(two_ranks(), "a \"title\"", 2));
  CHECK(trace["otherData"]["title"] == "a \"title\"");
  std::map<std::string, std::vector<std::string>> names;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["args"].contains("name"))
      names[event["name"]].push_back(event["args"]["name"]);
  }
  CHECK(names["process_name"] == std::vector<std::string>{"rank 0: GPUs 0 to 3", "rank 1: GPUs 4 to 7"});
  CHECK(names["thread_name"] ==
        std::vector<std::string>{"compute", "exchange: states", "compute", "exchange: states"});

  const std::vector<json> all = spans(trace);
  // 2 passes, 3 operations that take time, 2 shares in the collective, and 1 wait for it.
  REQUIRE(all.size() == 8);
  CHECK(all[0]["name"] == "forward of micro-batch 2");
  CHECK(all[0]["args"] == json{{"micro_batch", 2}, {"chunk", 1}});
  CHECK(all[1]["name"] == "backward of micro-batch 0");
  CHECK(all[3]["name"] == "attention");
  CHECK(all[3]["ts"] == 1.5);
  CHECK(all[3]["dur"] == 2.5);
  CHECK(all[4]["name"] == "wait for states");
  CHECK(all[4]["ts"] == 4.0);
  CHECK(all[4]["dur"] == 3.001);
  CHECK(all[5]["name"] == "states");
  CHECK(all[5]["ts"] == 7.001);
  CHECK(all[5]["args"]["collective"] == 5);
  CHECK(all[7]["ts"] == all[5]["ts"]);
  CHECK(all[7]["dur"] == all[5]["dur"]);
}

TEST_CASE("Spans have categories, and an arrow leads from the last rank of a collective to each that waits") {
  const json trace = json::parse(to_chrome_trace(two_ranks(), "", 2));
  std::vector<std::string> categories;
  for (const json& span : spans(trace)) categories.push_back(span["cat"]);
  CHECK(categories == std::vector<std::string>{"pass", "pass", "compute", "compute", "wait", "exchange",
                                               "compute", "exchange"});
  std::vector<json> arrows;
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "s" || event["ph"] == "f") arrows.push_back(event);
  // Rank 1 comes at 7.001 us; rank 0 has waited since 4 us.
  REQUIRE(arrows.size() == 2);
  CHECK(arrows[0]["ph"] == "s");
  CHECK(arrows[0]["pid"] == 1);
  CHECK(arrows[1]["ph"] == "f");
  CHECK(arrows[1]["bp"] == "e");
  CHECK(arrows[1]["pid"] == 0);
  for (const json& arrow : arrows) {
    CHECK(arrow["id"] == 0);
    CHECK(arrow["ts"] == 7.001);
  }
}

TEST_CASE("A trace of the first ranks leaves the others out") {
  const json trace = json::parse(to_chrome_trace(two_ranks(), "", 1));
  CHECK(spans(trace).size() == 5);
  for (const json& event : trace["traceEvents"]) CHECK(event["pid"] == 0);
}

TEST_CASE("Lanes of a pipeline say their stage") {
  TracedStep step;
  step.lanes = {{.rank = 0, .stage = 0, .first_gpu = 0}, {.rank = 0, .stage = 1, .first_gpu = 8}};
  const json trace = json::parse(to_chrome_trace(step, "", 1));
  CHECK(trace["traceEvents"][0]["args"]["name"] == "rank 0, stage 0: GPU 0");
  CHECK(trace["traceEvents"][2]["args"]["name"] == "rank 0, stage 1: GPU 8");
}
