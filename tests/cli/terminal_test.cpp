// What packsim compare prints on terminals and into pipes: widths, colours, columns.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "cli/shared/terminal.hpp"
#include "program.hpp"

using namespace packsim_test;
using Catch::Contains;

namespace {

const std::string kCompared = R"({
  "format": 1, "name": "small", "seed": 3, "model": "llama3.1-8b",
  "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
  "training": {"tokens_per_iteration": 65536, "zero_stage": 3},
  "packing": {"last_iteration": "shorten"},
  "lengths": {"mix": [{"source": "gsm8k.csv", "count": 500}]},
  "strategies": [{"strategy": "isf", "capacity_tokens": 8192, "sp_degree": 1},
                 {"strategy": "bfd", "capacity_tokens": 8192, "sp_degree": 1}]
})";

std::size_t widest(const std::string& text) {
  std::size_t columns = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    columns = std::max(columns, end - begin);
    begin = end + 1;
  }
  return columns;
}

bool has_colour(const ProgramRun& run) {
  return run.out.find('\x1b') != std::string::npos;
}

class Compared {
 public:
  Compared() { write_text(folder_ / "small.json", kCompared); }

  ProgramRun piped(const std::string& environment, const std::string& options = "") const {
    return shell("unset COLUMNS NO_COLOR CLICOLOR_FORCE; " + environment + kCommand + options);
  }

  // On a terminal of 57 columns.
  ProgramRun on_terminal(const std::string& environment, const std::string& options = "") const {
    return shell("unset NO_COLOR CLICOLOR_FORCE; export TERM=xterm; script -qec \"stty cols 57 rows 30; " +
                 environment + kCommand + options + "\" /dev/null </dev/null");
  }

 private:
  static constexpr const char* kCommand = " packsim compare small.json --out report ";

  ProgramRun shell(const std::string& command) const {
    ProgramRun run = run_shell(folder_, command);
    INFO(run.err);
    CHECK(run.exit_code == 0);
    return run;
  }

  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("no line is wider than the terminal; in a pipe COLUMNS decides, and without it 80") {
  const Compared job;
  const ProgramRun piped = job.piped("");
  CHECK(widest(piped.out) <= 80);
  CHECK_FALSE(has_colour(piped));
  CHECK(widest(job.piped("COLUMNS=wide").out) <= 80);
  const std::size_t at_120 = widest(job.piped("COLUMNS=120").out);
  CHECK(at_120 > 80);
  CHECK(at_120 <= 120);
  CHECK(widest(job.on_terminal("COLUMNS=200", "--color never").out) <= 57);
  CHECK(has_colour(job.on_terminal("")));
}

TEST_CASE("--color decides on colours, then NO_COLOR, then CLICOLOR_FORCE, then TERM, then the terminal") {
  struct Case {
    const char* choice;
    const char* no_color;
    const char* forced;
    const char* term;
    bool is_terminal;
    bool expected;
  };
  for (const Case& one :
       {Case{"auto", "", "", "xterm", true, true}, Case{"auto", "", "", "xterm", false, false},
        Case{"auto", "1", "", "xterm", true, false}, Case{"auto", "0", "1", "xterm", true, false},
        Case{"auto", "", "1", "dumb", false, true}, Case{"auto", "", "0", "xterm", false, false},
        Case{"auto", "", "0", "xterm", true, true}, Case{"auto", "", "", "dumb", true, false},
        Case{"always", "1", "", "dumb", false, true}, Case{"never", "", "1", "xterm", true, false}}) {
    setenv("NO_COLOR", one.no_color, 1);
    setenv("CLICOLOR_FORCE", one.forced, 1);
    setenv("TERM", one.term, 1);
    CAPTURE(one.choice, one.no_color, one.forced, one.term, one.is_terminal);
    CHECK(packsim::wants_colour(one.choice, one.is_terminal) == one.expected);
  }
  for (const char* name : {"NO_COLOR", "CLICOLOR_FORCE", "TERM"}) unsetenv(name);
}

TEST_CASE("compare shows the chosen columns, all of them, or what they mean") {
  const Compared job;
  CHECK_THAT(job.piped("", "--columns cr,GPU-days").out, Contains("\nrun    CR  GPU-days\n"));
  // A heading with its unit, as charts and sweeps print it, and the key of a value that no table shows.
  CHECK_THAT(job.piped("", "--columns 'wall h,90%,abr_weighted'").out,
             Contains("  wall  90%  abr_weighted\n"));
  const std::string wide = job.piped("", "--wide").out;
  for (const char* text :
       {"ABR slots", "use and cost", "peak of GPU memory", "lower bound  ", "misplaced loss"})
    CHECK_THAT(wide, Contains(text));
  CHECK_THAT(job.piped("", "--explain").out, Contains("\nABR              Attention balance ratio: "));
}

TEST_CASE("columns that do not exist are all named before anything is simulated") {
  const TemporaryFolder folder;
  const ProgramRun run = run_shell(folder, "packsim compare missing.json --columns gpu_day,ABR,,xyz");
  CHECK(run.exit_code == 2);
  CHECK(run.out.empty());
  CHECK_THAT(run.err,
             Contains("--columns: expected the title or key of a column, got \"gpu_day\" (did you mean "
                      "gpu_days?)\n"));
  CHECK_THAT(run.err, Contains("got \"xyz\" (known: ") && Contains(" more, see docs/metrics.md)"));
  CHECK(std::ranges::count(run.err, '\n') == 2);
  CHECK(run_shell(folder, "packsim compare missing.json --columns cr --wide").exit_code == 2);
}

TEST_CASE("compare ends with the command that writes the best plan's schedule, and that command works") {
  const TemporaryFolder folder;
  write_text(folder / "small.json", kCompared);
  const std::string out = run_shell(folder, "packsim compare small.json --out report").out;
  const std::size_t begin = out.find("  packsim run small.json");
  REQUIRE(begin != std::string::npos);
  const std::string command = out.substr(begin, out.find("my.plan", begin) + 7 - begin);
  CHECK(run_shell(folder, command).exit_code == 0);
  CHECK(run_shell(folder, "packsim plan my.plan").exit_code == 0);
}
