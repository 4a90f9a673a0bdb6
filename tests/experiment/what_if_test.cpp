// Runs in which exchange or waits cost nothing (what_if.free).
#include <catch2/catch.hpp>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "experiment/trace_strategy.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using Catch::Contains;

namespace {

Report what_if_report(const std::string& free, const std::string& parallelism = "",
                      const RunOptions& options = {}) {
  const TempFolder folder;
  std::string lengths = "tokens\n";
  for (int i = 0; i < 400; ++i) lengths += std::to_string(1 + 37 * i * i % 5000) + "\n";
  folder.write("lengths.csv", lengths);
  const std::string text = R"({"format": 1, "name": "small", "model": "llama3.1-8b",
    "cluster": {"type": "h100-sxm-80gb", "nodes": 2}, "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": 131072}, "parallelism": {)" +
                           parallelism + R"(}, "what_if": {"free": )" + free + R"(},
    "lengths": {"mix": [{"source": "lengths.csv"}]}, "strategies": [
      {"strategy": "isf", "capacity_tokens": 16384, "sp_degree": 2},
      {"name": "ring", "strategy": "isf", "capacity_tokens": 16384, "cp_degree": 2}]})";
  return compare_strategies(load_scenario(folder.write("s.json", text), packsim_test::kData), options);
}

double time_share(const StrategyResult& run, Cause cause) {
  return run.times->shares.of(cause);
}

}  // namespace

TEST_CASE("What is free takes no time at either level") {
  for (const Level level : {Level::step, Level::op}) {
    const RunOptions options{.level = level, .progress = {}};
    const Report real = what_if_report("[]", "", options);
    const Report free = what_if_report(R"(["sequence", "states"])", "", options);
    for (std::size_t r = 0; r < real.runs.size(); ++r) {
      CAPTURE(real.runs[r].name);
      const double real_gpu_days = real.runs[r].times->gpu_days;
      const double free_gpu_days = free.runs[r].times->gpu_days;
      CHECK(free_gpu_days < real_gpu_days);
      for (const Cause cause : {Cause::sequence, Cause::states}) {
        CHECK(time_share(real.runs[r], cause) > 0);
        CHECK(time_share(free.runs[r], cause) == 0);
      }
      // GPUs compute what they did.
      for (const Cause cause : {Cause::linear, Cause::attention, Cause::optimizer})
        CHECK(time_share(free.runs[r], cause) * free_gpu_days ==
              Approx(time_share(real.runs[r], cause) * real_gpu_days)
                  .epsilon(level == Level::op ? 0.05 : 1e-6));
      CHECK(free.runs[r].times->gpu_days_low < free_gpu_days);
      CHECK(free.runs[r].times->gpu_days_high > free_gpu_days);
    }
  }
}

TEST_CASE("Where all exchange is free, no transfer shares a link: both levels take the same time",
          "[plain]") {
  const std::string all = R"(["sequence", "tensor", "expert", "pipeline", "states"])";
  for (const char* parallelism :
       {"", R"("tp_degree": 2, "pp_degree": 2)", R"("overlaps_states": true, "shard_degree": 8)"}) {
    CAPTURE(parallelism);
    const Report step = what_if_report(all, parallelism);
    const Report op = what_if_report(all, parallelism, {.level = Level::op, .progress = {}});
    for (std::size_t r = 0; r < step.runs.size(); ++r)
      CHECK(op.runs[r].times->gpu_days == step.runs[r].times->gpu_days);
  }
}

TEST_CASE("Without waits a run takes what its GPUs do") {
  const Report real = what_if_report("[]");
  const Report free = what_if_report(R"("waiting")");
  for (std::size_t r = 0; r < real.runs.size(); ++r) {
    const RunTimes& waits = *real.runs[r].times;
    CHECK(waits.shares.idle > 0.01);
    CHECK(free.runs[r].times->shares.idle == 0);
    // ZeRO 1 without overlap: ranks meet once a step, so that all of their waiting is idle time.
    CHECK(free.runs[r].times->gpu_days == Approx(waits.gpu_days * (1 - waits.shares.idle)));
    CHECK_FALSE(free.runs[r].bound);
    CHECK(free.runs[r].times->timelines.empty());
  }
  CHECK(free.bounds.empty());
}

TEST_CASE("A report of a what-if says so, and no other does") {
  CHECK(what_if_report("[]").manifest.warnings.front().find("what-if") == std::string::npos);
  CHECK_THAT(what_if_report(R"(["states", "sequence"])").manifest.warnings.front(),
             Contains("a what-if that no real job reaches, as these cost nothing: sequence, states"));
  CHECK_THAT(what_if_report(R"("waiting")").manifest.warnings.front(),
             Contains("cost nothing: waiting (what_if.free); a step takes what GPUs take on average"));
}

TEST_CASE("At op level and in traces ranks have to wait") {
  CHECK_THROWS_WITH(what_if_report(R"("waiting")", "", {.level = Level::op, .progress = {}}),
                    Contains("/what_if/free: expected no \"waiting\" at op level"));
  const TempFolder folder;
  Scenario scenario;
  scenario.path = "s.json";
  scenario.ranks_wait = false;
  CHECK_THROWS_WITH(trace_strategy(scenario, "isf", TracedBy::median, {}),
                    Contains("s.json: /what_if/free: expected no \"waiting\" in a trace"));
}
