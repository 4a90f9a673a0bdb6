#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "program.hpp"

using namespace packsim_test;
using nlohmann::json;

namespace {

const std::string kJob = R"({ // one node
  "format": 1, "name": "few", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
  "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": "128K", "zero_stage": 3},
  "lengths": {"mix": [{"source": "few.csv"}]},
  "strategies": [{"strategy": "isf", "capacity_tokens": "32k", "sp_degree": 4}]
})";

}  // namespace

TEST_CASE("Standard input is a scenario, or the lengths of one, but not both") {
  const TemporaryFolder folder;
  write_text(folder / "few.json", kJob);
  write_text(folder / "few.csv", "tokens\n5\n");
  CHECK(run_shell(folder, "packsim check - <few.json").out.starts_with("-: valid\nfew"));
  CHECK(run_shell(folder, "printf '5\\n6\\n' | packsim check few.json --set lengths.mix.0.source=-")
            .out.find("-: 2 samples, 11 tokens") != std::string::npos);
  CHECK(run_shell(folder, "printf '{\"input_ids\": [1, 2]}\\n' | packsim pack - --strategy ffd --capacity 8k")
            .out.starts_with("-: 1 samples, 2 tokens"));
  const ProgramRun both = run_shell(folder, "packsim check - --set lengths.mix.0.source=- <few.json");
  CHECK(both.exit_code == 2);
  CHECK(both.err ==
        "--set lengths.mix.0.source: expected a file, as the scenario itself comes from standard input, got "
        "\"-\" "
        "(string)\n");
}

TEST_CASE("A report's command has its settings and replays it") {
  const TemporaryFolder folder;
  write_text(folder / "few.json", kJob);
  write_text(folder / "few.csv", "tokens\n5\n");
  const std::string command =
      "packsim run few.json --strategy isf --json --set strategies.isf.capacity_tokens=64K "
      "--set 'cluster={\"type\": \"h100-sxm-80gb\", \"nodes\": 2}'";
  const json first = json::parse(run_shell(folder, command).out);
  CHECK(first["manifest"]["command"] == command);
  CHECK(first["runs"][0]["groups"][0]["capacity_tokens"] == 65536);  // 64 x 1024
  const json again = json::parse(run_shell(folder, first["manifest"]["command"].get<std::string>()).out);
  CHECK(again["runs"] == first["runs"]);
  CHECK(again["manifest"]["scenario_hash"] == first["manifest"]["scenario_hash"]);
  const json unchanged = json::parse(run_shell(folder, "packsim run few.json --strategy isf --json").out);
  CHECK(unchanged["manifest"]["scenario_hash"] != first["manifest"]["scenario_hash"]);
}

TEST_CASE("Every command that takes a scenario takes settings") {
  const TemporaryFolder folder;
  write_text(folder / "few.json", kJob);
  write_text(folder / "few.csv", "tokens\n5\n");
  for (const char* command :
       {"compare few.json", "run few.json --strategy isf", "check few.json", "tune few.json",
        "trace few.json --strategy isf", "calibrate coverage few.json h100-data-sheet"}) {
    CAPTURE(command);
    const ProgramRun run =
        run_shell(folder, "packsim " + std::string(command) + " --set training.zero_stage=9");
    CHECK(run.exit_code == 2);
    CHECK(run.err == "--set training.zero_stage: expected integer in 0..3, got 9 (number)\n");
  }
  // A scenario that tune writes is the changed one.
  const ProgramRun tuned = run_shell(
      folder, "packsim tune few.json --lengths 32k --sp 4 --set training.epochs=2 --write-scenario t.json");
  CHECK(tuned.exit_code == 0);
  CHECK(json::parse(read_text(folder / "t.json"))["training"]["epochs"] == 2);
}
