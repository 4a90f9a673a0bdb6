// What `packsim advise` says is what the changed scenario simulates.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/program.hpp"

using Catch::Contains;
using nlohmann::json;
using packsim_test::ProgramRun;
using packsim_test::read_text;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

namespace {

std::string scenario(const std::string& model, int nodes, const std::string& strategies) {
  return R"({"format": 1, "name": "small", "model": ")" + model +
         R"(", "cluster": {"type": "h100-sxm-80gb", "nodes": )" + std::to_string(nodes) +
         R"(}, "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072},
    "lengths": {"mix": [{"source": "qmsum.csv"}]}, "strategies": [)" +
         strategies + "]}";
}

json advice(const TemporaryFolder& folder, const std::string& options) {
  const ProgramRun run = run_shell(folder, "packsim advise s.json --json --quiet " + options);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.out);
}

}  // namespace

TEST_CASE("each line of an advice is what a run with its settings takes", "[plain]") {
  const TemporaryFolder folder;
  write_text(folder / "s.json", scenario("llama3.1-8b", 2, R"(
      {"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 4},
      {"name": "a.b", "strategy": "ffd", "capacity_tokens": 65536, "sp_degree": 8})"));
  for (const std::string name : {"isf", "a.b"}) {
    const json found = advice(folder, "--strategy " + name);
    CHECK(found["strategy"] == name);
    int n_run = 0;
    for (const char* kind : {"changes", "limits"}) {
      double last = 0;
      int n_of_kind = 0;
      for (const json& change : found[kind]) {
        CAPTURE(change.dump());
        // Two are enough to see that the name is found.
        if (name != "isf" && kind == std::string("changes") && n_of_kind == 2) break;
        std::string command = "packsim run s.json --strategy " + name + " --json --quiet --out r";
        for (const json& setting : change["settings"])
          command += " --set '" + setting.get<std::string>() + "'";
        const ProgramRun run = run_shell(folder, command);
        if (!change["refused"].is_null()) {
          CHECK(run.exit_code == 2);
          continue;
        }
        REQUIRE(run.exit_code == 0);
        ++n_of_kind;
        const json simulated = json::parse(run.out)["runs"][0];
        CHECK(simulated["gpu_days"] == change["gpu_days"]);
        if (!change["gpu_days"].is_null()) {
          CHECK(simulated["gpu_days_low"] == change["gpu_days_low"]);
          CHECK(simulated["gpu_days_high"] == change["gpu_days_high"]);
        }
        if (change["gpu_days"].is_null() || !change["trains_asked_job"]) continue;
        CHECK(change["gpu_days"] >= last);  // the fastest first
        last = change["gpu_days"];
        CHECK(change["saved_fraction"].get<double>() ==
              Approx(1 - change["gpu_days"].get<double>() / found["gpu_days"].get<double>()));
      }
      n_run += n_of_kind;
    }
    CHECK(n_run >= (name == "isf" ? 15 : 5));
  }
}

TEST_CASE("Where GPUs wait for their hosts, advice says what would launch less", "[plain]") {
  const TemporaryFolder folder;
  std::string text = scenario("qwen2.5-7b", 1, R"({"strategy": "isf", "capacity_tokens": 256})");
  text.replace(text.find("deepspeed-ulysses-h100"), 22, "transformers-h100");
  write_text(folder / "s.json", text);
  const json found = advice(folder, "--set packing.over_long=split --set training.zero_stage=1");
  const auto settings_of = [&](const char* kind, const std::string& setting) {
    for (const json& change : found[kind])
      for (const json& one : change["settings"])
        if (one.get<std::string>().ends_with(setting)) return change;
    return json();
  };
  const json compiled = settings_of("changes", "kernels=compiled");
  const json liger = settings_of("changes", "kernels=liger");
  const json at_once = settings_of("limits", "launch_s=0");
  for (const json& change : {compiled, liger, at_once}) {
    REQUIRE_FALSE(change.is_null());
    CHECK(change["saved_fraction"].get<double>() > 0.1);
  }
  CHECK_FALSE(settings_of("changes", "loss=fused").is_null());
  CHECK(settings_of("changes", "loss_reads=0").is_null());
  CHECK(settings_of("changes", "experts=grouped").is_null());
  const json read = advice(folder,
                           "--set packing.over_long=split --set training.zero_stage=1 "
                           "--set parallelism.loss_reads=1 --set parallelism.kernels=fused");
  CHECK(read.dump().find("loss_reads=0") != std::string::npos);
  // Nothing is advised that the job has already.
  const json again = advice(folder,
                            "--set packing.over_long=split --set training.zero_stage=1 "
                            "--set parallelism.kernels=compiled --set parallelism.launch_s=0");
  CHECK(again.dump().find("kernels=") == std::string::npos);
  CHECK(again.dump().find("launch_s=") == std::string::npos);
}

TEST_CASE("limits are the exchange that a job has, and waits, besides what is free already") {
  const TemporaryFolder folder;
  const auto limits = [&](const std::string& parallelism, const std::string& options) {
    std::string text = scenario("llama3.1-8b", 2, R"(
      {"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 4})");
    text.insert(1, R"("parallelism": {)" + parallelism + "}, ");
    write_text(folder / "s.json", text);
    std::set<std::string> settings;
    const json found = advice(folder, options);
    for (const json& limit : found["limits"]) {
      CHECK(limit["gpu_days"].get<double>() > 0);
      settings.insert(limit["settings"][0].get<std::string>());
    }
    return settings;
  };
  using Settings = std::set<std::string>;
  CHECK(limits("", "") == Settings{"what_if.free=sequence", "what_if.free=states", "what_if.free=waiting"});
  CHECK(limits(R"("tp_degree": 2, "pp_degree": 2)", "") ==
        Settings{"what_if.free=sequence", "what_if.free=tensor", "what_if.free=pipeline",
                 "what_if.free=states"});
  CHECK(limits("", "--set what_if.free=states") ==
        Settings{R"(what_if.free=["states","sequence"])", R"(what_if.free=["states","waiting"])"});
}

TEST_CASE("without a strategy the advice is for the fastest that is comparable") {
  const TemporaryFolder folder;
  write_text(folder / "s.json", scenario("llama3.1-8b", 1, R"(
      {"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8},
      {"strategy": "ffd", "capacity_tokens": 65536, "sp_degree": 4})"));
  const json compared =
      json::parse(run_shell(folder, "packsim compare s.json --json --quiet --out r").out)["runs"];
  const int fastest = compared[0]["gpu_days"] < compared[1]["gpu_days"] ? 0 : 1;
  const json found = advice(folder, "");
  CHECK(found["strategy"] == compared[fastest]["name"]);
  CHECK(found["gpu_days"] == compared[fastest]["gpu_days"]);
  const ProgramRun text = run_shell(folder, "packsim advise s.json 2>/dev/null");
  CHECK_THAT(text.out, Contains("Limits that no setting of a real job reaches"));
  CHECK_THAT(text.out, Contains("--set what_if.free=sequence"));
  CHECK(run_shell(folder, "packsim advise s.json --strategy bfd").exit_code == 2);
}

TEST_CASE("for a plan that does not fit, the advice is what makes it fit", "[plain]") {
  const TemporaryFolder folder;
  write_text(folder / "s.json", scenario("llama3.1-8b", 1, R"(
      {"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 1})"));
  REQUIRE(run_shell(folder, "packsim run s.json --strategy isf --quiet --out r").exit_code == 0);
  REQUIRE(json::parse(read_text(folder / "r/report.json"))["runs"][0]["feasible"] == false);
  const json found = advice(folder, "");
  CHECK(found["feasible"] == false);
  CHECK(found["changes"][0]["feasible"] == true);
  CHECK(found["limits"].empty());  // which need no memory
  const ProgramRun text =
      run_shell(folder, "packsim advise s.json --quiet; packsim advise s.json 2>/dev/null");
  CHECK_THAT(text.out, Contains("isf does not fit in memory. These changes make it fit"));

  // Twice the memory alone is not enough for 70B on 16 GPUs, nor is any other change.
  write_text(folder / "s.json", scenario("llama3.1-70b", 2, R"(
      {"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8, "zero_stage": 1})"));
  int n_pairs = 0;
  const json large = advice(folder, "");
  for (const json& change : large["changes"]) {
    if (change["feasible"] == false) continue;
    CHECK(change["what"].get<std::string>().find(", and ") != std::string::npos);
    ++n_pairs;
  }
  CHECK(n_pairs >= 1);
}
