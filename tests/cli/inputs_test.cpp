// No command replaces a file that it reads.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/cli/small_job.hpp"

using Catch::Contains;
using packsim_test::ProgramRun;
using packsim_test::read_text;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

TEST_CASE("an output that is an input is refused, and the input stays") {
  const TemporaryFolder folder;
  write_text(folder / "scenario.json", packsim_test::small_job());
  write_text(folder / "l.csv", "tokens\n512\n1024\n");
  const ProgramRun sweep =
      run_shell(folder, "packsim sweep scenario.json --vary cluster.nodes=1,2 --out s.db --quiet");
  INFO(sweep.err);
  REQUIRE(sweep.exit_code == 0);
  struct Case {
    const char* command;
    const char* input;
  };
  REQUIRE(
      run_shell(folder,
                "packsim compare scenario.json --out report --quiet && ln -s scenario.json symbolic.json && "
                "ln scenario.json hard.json")
          .exit_code == 0);
  const std::vector<Case> cases = {
      {"packsim recommend scenario.json --set packing.last_iteration=shorten --nodes 1 --max-gpus 8 --out . "
       "--quiet",
       "scenario.json"},
      {"packsim new --lengths l.csv --out l.csv", "l.csv"},
      {"packsim page s.db --out s.db", "s.db"},
      {"packsim sweep scenario.json --vary cluster.nodes=1 --out scenario.json", "scenario.json"},
      {"packsim plot report --chart gpu_days --out report/charts.json", "report/charts.json"},
      {"packsim run scenario.json --strategy isf --write-plan scenario.json", "scenario.json"},
      {"packsim run scenario.json --strategy isf --write-plan ./report/../scenario.json", "scenario.json"},
      {"packsim trace scenario.json --strategy isf --out symbolic.json", "symbolic.json"},
      {"packsim trace scenario.json --strategy isf --out hard.json", "hard.json"},
      {"packsim tune scenario.json --write-scenario hard.json", "hard.json"},
      {"packsim calibrate coverage scenario.json h100-sxm-public --plan scenario.json", "scenario.json"},
      {"packsim pack l.csv --strategy isf --gpus 1 --capacity 2048 --plan l.csv", "l.csv"}};
  for (const Case& one : cases) {
    for (const std::string force : {"", " --force"}) {
      CAPTURE(one.command, force);
      const std::string before = read_text(folder / one.input);
      const ProgramRun run = run_shell(folder, one.command + force);
      CHECK(run.exit_code == 2);
      CHECK_THAT(run.err, Contains(std::string(one.input) +
                                   ": expected a file that is no input, got one that the command reads\n"));
      CHECK(read_text(folder / one.input) == before);
    }
  }
}
