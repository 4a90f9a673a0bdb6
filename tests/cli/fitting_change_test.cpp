// What compare says of a job that fits nowhere: the change that makes it fit.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
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

std::string scenario(const std::string& model, const std::string& cluster, const std::string& strategy,
                     const std::string& last_iteration = "shorten") {
  return R"({"format": 1, "name": "small", "model": ")" + model + R"(", "cluster": {"type": ")" + cluster +
         R"(", "nodes": 1}, "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072},
    "lengths": {"mix": [{"source": "qmsum.csv", "count": 40}]}, "packing": {"last_iteration": ")" +
         last_iteration + R"("}, "strategies": [)" + strategy + "]}";
}

json report_of(const TemporaryFolder& folder, const std::string& options) {
  const ProgramRun run = run_shell(folder, "packsim compare s.json --quiet --force --out r " + options);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(read_text(folder / "r/report.json"));
}

}  // namespace

TEST_CASE("of a job that fits nowhere, compare says the change that makes it fit, and what it takes then") {
  struct Job {
    const char* model;
    const char* cluster;
    const char* strategy;
    const char* what;
  };
  const Job job = GENERATE(
      // 16 bytes for each of 8 billion parameters are 128 GB of 80; with ZeRO 1, 16 GB and 14 of states.
      Job{"llama3.1-8b", "h100-sxm-80gb", R"({"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8,
                                              "zero_stage": 0})",
          "ZeRO 1"},
      // Of a plan that is searched without host memory, no setting is left. 16.8 GiB of states are 4.2 on 4
      // nodes.
      Job{"llama3.1-8b", "a10g-24gb", R"({"strategy": "isf", "plan": "auto", "offloads": ["none"]})",
          "4 nodes in place of 1"});
  CAPTURE(job.model, job.cluster, job.strategy);
  const TemporaryFolder folder;
  write_text(folder / "s.json", scenario(job.model, job.cluster, job.strategy));
  const json report = report_of(folder, "");
  const json& fitting = report["verdict"]["fitting"];
  REQUIRE(fitting["strategy"] == "isf");
  REQUIRE_FALSE(fitting["found"].is_null());
  CHECK(fitting["found"]["what"] == job.what);
  CHECK(fitting["found"]["trains_asked_job"] == true);
  std::string settings;
  for (const std::string setting : fitting["found"]["settings"]) settings += " --set '" + setting + "'";
  CHECK_THAT(report["verdict"]["headline"].get<std::string>(), Contains(std::string("With ") + job.what));
  const json changed = report_of(folder, settings);
  CHECK(changed["verdict"]["fitting"].is_null());
  REQUIRE(changed["runs"][0]["feasible"] == true);
  CHECK(fitting["found"]["gpu_days"] == changed["runs"][0]["gpu_days"]);
  CHECK(fitting["found"]["gpu_days_high"] == changed["runs"][0]["gpu_days_high"]);
}

TEST_CASE("where no change makes a job fit by itself, compare says how many were tried") {
  const TemporaryFolder folder;
  write_text(folder / "s.json", scenario("llama3.1-70b", "a10g-24gb",
                                         R"({"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8,
                                             "zero_stage": 0})"));
  const json verdict = report_of(folder, "")["verdict"];
  CHECK(verdict["best"].is_null());
  CHECK(verdict["fitting"]["found"].is_null());
  CHECK(verdict["fitting"]["n_tried"] > 10);
  CHECK_THAT(verdict["headline"].get<std::string>(), Contains("makes isf fit by itself"));
}

TEST_CASE("a change that fits is said where the changed job would be another one, too") {
  const TemporaryFolder folder;
  write_text(folder / "s.json", scenario("llama3.1-8b", "h100-sxm-80gb",
                                         R"({"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8,
                                             "zero_stage": 0})",
                                         "repeat"));
  const json verdict = report_of(folder, "")["verdict"];
  CHECK(verdict["fitting"]["found"]["trains_asked_job"] == false);
  CHECK_THAT(verdict["headline"].get<std::string>(),
             Contains(", though it trains another job than was asked for"));
}
