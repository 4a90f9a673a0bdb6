// explain and diff on reports that the program itself wrote.
#include <catch2/catch.hpp>
#include <string>

#include "tests/cli/program.hpp"
#include "tests/cli/small_job.hpp"

using Catch::Contains;
using packsim_test::ProgramRun;
using packsim_test::run_shell;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

TEST_CASE("a report is explained and compared with another") {
  const TemporaryFolder folder;
  write_text(folder / "one.json", packsim_test::small_job(1));
  write_text(folder / "two.json", packsim_test::small_job(2));
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
