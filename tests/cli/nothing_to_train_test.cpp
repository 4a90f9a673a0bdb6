#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "program.hpp"

using namespace packsim_test;
using nlohmann::json;

namespace {

// Two samples, of 5 000 and 6 000 tokens, and two strategies with packs of 1 024 and 8 192.
json scenario_that_drops() {
  return json::parse(R"({
    "format": 1, "name": "drops", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072, "zero_stage": 3},
    "lengths": {"mix": [{"source": "long.csv"}]}, "packing": {"over_long": "drop"},
    "strategies": [{"name": "short", "strategy": "isf", "capacity_tokens": 1024, "sp_degree": 4},
                   {"name": "open", "strategy": "planner", "capacity_tokens": 1024}]
  })");
}

}  // namespace

TEST_CASE("A strategy that drops every sample is a mistake, not a run without imbalance") {
  const TemporaryFolder folder;
  write_text(folder / "long.csv", "tokens\n5000\n6000\n");
  write_text(folder / "drops.json", scenario_that_drops().dump());
  for (const std::string command : {"check", "compare", "tune"}) {
    CAPTURE(command);
    const ProgramRun run = run_shell(folder, "packsim " + command + " drops.json");
    CHECK(run.exit_code == 2);
    CHECK(run.err ==
          "drops.json: /strategies: short, open: expected samples to train, got none: all are empty, or "
          "over-long and dropped\n");
    CHECK(run.out.empty());
  }
  CHECK_FALSE(std::filesystem::exists(folder / "packsim-report"));
}

TEST_CASE("So is a data set of empty samples") {
  const TemporaryFolder folder;
  write_text(folder / "long.csv", "tokens\n0\n0\n");
  json scenario = scenario_that_drops();
  scenario["strategies"].erase(0);
  write_text(folder / "empty.json", scenario.dump());
  const ProgramRun run = run_shell(folder, "packsim compare empty.json");
  CHECK(run.exit_code == 2);
  CHECK(run.err ==
        "empty.json: /strategies/0: open: expected samples to train, got none: all are empty, or over-long "
        "and dropped\n");
}

TEST_CASE("pack refuses to drop every sample") {
  const TemporaryFolder folder;
  write_text(folder / "long.csv", "tokens\n5000\n6000\n0\n");
  const ProgramRun run =
      run_shell(folder, "packsim pack long.csv --strategy ffd --capacity 1024 --over-long drop --out packs");
  CHECK(run.exit_code == 2);
  CHECK(run.err ==
        "packsim: expected samples to train, got none: of 3 samples 2 are over-long and left out, 1 are "
        "empty\n");
  CHECK_FALSE(std::filesystem::exists(folder / "packs"));
}

TEST_CASE("pack has no ratios of no iteration") {
  const TemporaryFolder folder;
  write_text(folder / "one.csv", "tokens\n1000\n");
  // One pack, of which an iteration of 8 GPUs needs 8: nothing is trained.
  const std::string command =
      "packsim pack one.csv --strategy ffd --capacity 1024 --gpus 8 --tokens-per-iteration 8192 "
      "--last-iteration drop";
  const ProgramRun run = run_shell(folder, command + " --json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(json::parse(run.out)["iterations"] == 0);
  for (const char* key : {"abr", "abr_slots", "cr", "dbr", "pr", "ave_t_tokens"})
    CHECK(json::parse(run.out)[key].is_null());
  CHECK(run_shell(folder, command).out.find("  ABR                             -  ") != std::string::npos);
}

TEST_CASE("PACKSIM_DATA without data is a mistake, not an empty list") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "nothing");
  const ProgramRun missing = run_shell(folder, "PACKSIM_DATA=no-such-folder packsim list models");
  CHECK(missing.exit_code == 2);
  CHECK(missing.err == "packsim: PACKSIM_DATA: expected a folder, got \"no-such-folder\"\n");
  for (const auto& [what, message] :
       {std::pair{"models", "models/architectures: expected a .json file for each model, got none"},
        std::pair{"gpus", "models/gpus: expected a .json file for each GPU, got none"},
        std::pair{"clusters", "models/clusters: expected a .json file for each cluster type, got none"},
        std::pair{"networks", "models/networks: expected a .json file for each network, got none"},
        std::pair{"scenarios", "scenarios: expected a .json file for each scenario, got none"},
        std::pair{"profiles", "calibration/profiles: expected a .json file for each profile, got none"},
        std::pair{"hardware-profiles",
                  "calibration/profiles/hardware: expected a .json file for each hardware profile, got none"},
        std::pair{"support", "models/gpus: expected a .json file for each GPU, got none"}}) {
    CAPTURE(what);
    const ProgramRun run = run_shell(folder, std::string("PACKSIM_DATA=nothing packsim list ") + what);
    CHECK(run.exit_code == 2);
    CHECK(run.err ==
          std::string("packsim: nothing/") + message + " (PACKSIM_DATA names the folder of the data)\n");
    CHECK(run.out.empty());
  }
}
