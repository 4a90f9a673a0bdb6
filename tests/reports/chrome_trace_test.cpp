#include "reports/formats/chrome_trace.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

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

// Their traces, as one step at time 0.
json trace_of(const TracedStep& step, const std::string& title, int n_ranks) {
  const StrategyStep traced{.iteration = 0, .step = step, .memory = {}};
  return json::parse(to_chrome_trace({&traced, 1}, title, n_ranks));
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
  const json trace = trace_of(two_ranks(), "a \"title\"", 2);
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
  const json trace = trace_of(two_ranks(), "", 2);
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
  const json trace = trace_of(two_ranks(), "", 1);
  CHECK(spans(trace).size() == 5);
  for (const json& event : trace["traceEvents"]) CHECK(event["pid"] == 0);
}

TEST_CASE("Lanes of a pipeline say their stage") {
  TracedStep step;
  step.lanes = {{.rank = 0, .stage = 0, .first_gpu = 0}, {.rank = 0, .stage = 1, .first_gpu = 8}};
  const json trace = trace_of(step, "", 1);
  CHECK(trace["traceEvents"][0]["args"]["name"] == "rank 0, stage 0: GPU 0");
  CHECK(trace["traceEvents"][2]["args"]["name"] == "rank 0, stage 1: GPU 8");
}

TEST_CASE("Steps follow each other on the tracks of the same GPUs, and their iterations are named") {
  TracedStep later = two_ranks();
  const auto move = [](SimTime& time) { time.ns += 9000; };
  for (TracedOp& op : later.ops) {
    for (SimTime* time : {&op.start, &op.transfer_start, &op.end}) move(*time);
    op.stream += 10;  // streams have other numbers in each step
  }
  later.passes.clear();
  later.lanes[1].first_gpu = 8;  // other GPUs
  later.start = {9000};
  later.end = {18000};
  const std::vector<StrategyStep> steps = {{.iteration = 4, .step = two_ranks(), .memory = {}},
                                           {.iteration = 5, .step = later, .memory = {}}};
  const json trace = json::parse(to_chrome_trace(steps, "", 2));
  std::map<std::string, std::vector<std::string>> names;
  std::vector<json> iterations;
  std::map<int, std::set<int>> processes;  // by track
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["args"].contains("name"))
      names[event["name"]].push_back(event["args"]["name"]);
    if (event["ph"] == "X") processes[event["tid"]].insert(event["pid"].get<int>());
    if (event["ph"] == "X" && event["cat"] == "iteration") iterations.push_back(event);
  }
  CHECK(names["process_name"] == std::vector<std::string>{"rank 0: GPUs 0 to 3", "rank 1: GPUs 4 to 7",
                                                          "rank 1: GPUs 8 to 11", "steps"});
  // Two for each process of GPUs, although rank 0 has streams of other numbers in the second step.
  CHECK(names["thread_name"].size() == 2 * 3 + 1);
  for (const auto& [track, pids] : processes) CHECK(pids.size() == 1);
  REQUIRE(iterations.size() == 2);
  CHECK(iterations[0]["name"] == "iteration 4");
  CHECK(iterations[1]["name"] == "iteration 5");
  CHECK(iterations[1]["ts"] == 9.0);
  CHECK(iterations[1]["dur"] == 9.0);
  std::set<int> arrow_ids;
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "s") CHECK(arrow_ids.insert(event["id"].get<int>()).second);
  CHECK(arrow_ids.size() == 2);
}

TEST_CASE("Memory is a counter of the parts that a GPU holds, and of their sum; elsewhere it is 0") {
  TracedStep first = two_ranks();
  TracedStep later = two_ranks();
  later.start = {9000};
  later.lanes.pop_back();  // rank 1 does not run
  std::erase_if(later.ops, [](const TracedOp& op) { return op.rank == 1; });
  later.passes.clear();
  const auto held = [](std::uint32_t lane, std::int64_t ns, double weights, double activations) {
    return TracedMemory{
        .lane = lane, .time = {ns}, .held = {.weights_bytes = weights, .activations_bytes = activations}};
  };
  const std::vector<StrategyStep> steps = {
      {.iteration = 0, .step = first, .memory = {held(0, 0, 10, 0), held(0, 4000, 10, 5), held(1, 0, 7, 0)}},
      {.iteration = 1, .step = later, .memory = {held(0, 9000, 10, 0)}}};
  std::map<int, std::vector<json>> parts;
  std::map<int, std::vector<double>> totals;
  const json trace = json::parse(to_chrome_trace(steps, "", 2));
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "C") continue;
    if (event["name"] == "GPU memory, bytes")
      parts[event["pid"]].push_back({event["ts"], event["args"]});
    else
      totals[event["pid"]].push_back(event["args"]["total"]);
  }
  CHECK(parts[0] == std::vector<json>{{0.0, {{"weights", 10}, {"activations", 0}}},
                                      {4.0, {{"weights", 10}, {"activations", 5}}},
                                      {9.0, {{"weights", 10}, {"activations", 0}}}});
  CHECK(totals[0] == std::vector<double>{10, 15, 10});
  CHECK(parts[1] == std::vector<json>{{0.0, {{"weights", 7}}}, {9.0, {{"weights", 0}}}});
  CHECK(totals[1] == std::vector<double>{7, 0});
}
