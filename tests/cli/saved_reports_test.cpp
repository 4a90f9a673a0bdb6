// explain and diff on reports that the program itself wrote.
#include <catch2/catch.hpp>
#include <string>

#include "tests/cli/program.hpp"

using Catch::Contains;
using packsim_test::ProgramRun;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

TEST_CASE("a report is explained and compared with another") {
  const TemporaryFolder folder;
  const std::string start = R"({
    "format": 1, "name": "small", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072, "epochs": 1, "zero_stage": 3},
    "lengths": {"mix": [{"source": "qmsum.csv", "count": 100}]},
    "packing": {"over_long": "truncate"}, "seed": )";
  const std::string strategies = R"(, "strategies": [
    {"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4},
    {"strategy": "ffd", "capacity_tokens": 32768, "sp_degree": 8}]})";
  write_text(folder / "one.json", start + "1" + strategies);
  write_text(folder / "two.json", start + "2" + strategies);
  for (const char* name : {"one", "two"}) {
    REQUIRE(
        run_shell(folder, std::string("packsim compare ") + name + ".json --quiet --out " + name).exit_code ==
        0);
  }
  const ProgramRun explained = run_shell(folder, "packsim explain one isf ffd");
  CHECK(explained.exit_code == 0);
  CHECK_THAT(explained.out, Contains("sequence exchange"));
  const ProgramRun unknown = run_shell(folder, "packsim explain one/report.json isf fdf");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, Contains("got \"fdf\" (did you mean ffd?)"));
  CHECK(run_shell(folder, "packsim explain nothing isf ffd").exit_code == 3);

  const ProgramRun same = run_shell(folder, "packsim diff one one --fail-above 0");
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.out, Contains("Both reports are of the same job"));
  const ProgramRun other = run_shell(folder, "packsim diff one two --fail-above 0");
  CHECK_THAT(other.out, Contains("seed: 1 -> 2"));
  // Other samples take another time: one of the directions gets worse.
  const ProgramRun back = run_shell(folder, "packsim diff two one --fail-above 0");
  CHECK(other.exit_code + back.exit_code >= 1);
  const std::string& worse = other.exit_code == 1 ? other.err : back.err;
  CHECK_THAT(worse, Contains("GPU-days, ") && Contains(" before ("));
}
