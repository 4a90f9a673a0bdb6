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
  const std::vector<Case> cases = {
      {"packsim recommend scenario.json --set packing.last_iteration=shorten --nodes 1 --max-gpus 8 --out . "
       "--quiet",
       "scenario.json"},
      {"packsim new --lengths l.csv --force --out l.csv", "l.csv"},
      {"packsim page s.db --out s.db", "s.db"},
      {"packsim run scenario.json --strategy isf --write-plan scenario.json", "scenario.json"},
      {"packsim pack l.csv --strategy isf --gpus 1 --capacity 2048 --plan l.csv", "l.csv"}};
  for (const Case& one : cases) {
    CAPTURE(one.command);
    const std::string before = read_text(folder / one.input);
    const ProgramRun run = run_shell(folder, one.command);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, Contains(one.input) &&
                            Contains("expected a file that is no input, got one that the command reads"));
    CHECK(read_text(folder / one.input) == before);
  }
}
