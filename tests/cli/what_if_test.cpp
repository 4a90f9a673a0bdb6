// Every output of a what-if says that no real job is like that.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"
#include "tests/cli/small_job.hpp"

using Catch::Contains;
using nlohmann::json;
using packsim_test::ProgramRun;
using packsim_test::read_text;
using packsim_test::run_shell;
using packsim_test::small_job;
using packsim_test::TemporaryFolder;
using packsim_test::write_text;

namespace {

const std::string kFreeStates = "a what-if that no real job reaches, as these cost nothing: states";

std::string in_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) text.replace(at, 3, " ");
  return text;
}

}  // namespace

TEST_CASE("terminal, report.json, page, check, tune and trace say that a run is a what-if") {
  const TemporaryFolder folder;
  write_text(folder / "s.json", small_job());
  const std::string what_if = " s.json --set what_if.free=states ";
  const ProgramRun compared = run_shell(folder, "packsim compare" + what_if + "--out r");
  REQUIRE(compared.exit_code == 0);
  CHECK_THAT(in_one_line(compared.out), Contains("WARNING " + kFreeStates));
  const json warnings = json::parse(read_text(folder / "r/report.json"))["manifest"]["warnings"];
  CHECK_THAT(warnings[0].get<std::string>(), Contains(kFreeStates));
  CHECK_THAT(read_text(folder / "r/report.html"), Contains("<li>" + kFreeStates));
  CHECK_THAT(run_shell(folder, "packsim check" + what_if).out, Contains(kFreeStates));
  CHECK_THAT(run_shell(folder, "packsim tune" + what_if + "--lengths 65536 --sp 4 --iterations 2").out,
             Contains("WARNING " + kFreeStates));
  CHECK_THAT(run_shell(folder, "packsim trace" + what_if + "--strategy isf --out t.json").out,
             Contains("WARNING " + kFreeStates));
  CHECK_THAT(read_text(folder / "t.json"), Contains(", " + kFreeStates));
}

TEST_CASE("a what-if without waits is refused where ranks are shown or share links") {
  const TemporaryFolder folder;
  write_text(folder / "s.json", small_job());
  for (const char* command : {"compare --level op --out r", "trace --strategy isf --out t.json"}) {
    const ProgramRun run =
        run_shell(folder, std::string("packsim ") + command + " s.json --set what_if.free=waiting");
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, Contains("s.json: /what_if/free: expected no \"waiting\""));
  }
}
