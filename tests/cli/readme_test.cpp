#include <catch2/catch.hpp>
#include <sstream>

#include "program.hpp"
#include "tests/paths.hpp"

using namespace packsim_test;

namespace {

// The commands of a page's ```sh blocks, in order.
std::vector<std::string> commands_of(const std::string& page) {
  std::istringstream lines(read_text(packsim_test::source_dir() + "/" + page));
  std::vector<std::string> commands;
  bool in_block = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) {
      in_block = !in_block && line == "```sh";
    } else if (in_block && !line.empty() && line[0] != '#') {
      const std::string command = line.substr(0, line.find('#'));
      commands.push_back(command.substr(0, command.find_last_not_of(' ') + 1));
    }
  }
  return commands;
}

}  // namespace

TEST_CASE("Every command of the README and of docs/compare.md runs", "[slow]") {
  const TemporaryFolder folder;
  // The pages are read from the project's folder: relative paths start there, reports go to a place of their
  // own.
  REQUIRE(run_shell(folder, "for f in packing models sim scenarios calibration docs; do ln -s '" +
                                packsim_test::source_dir() + "'/$f $f; done; mkdir build; ln -s '" +
                                packsim_test::program() + "' build/packsim")
              .exit_code == 0);
  const std::string makefile = read_text(packsim_test::source_dir() + "/Makefile");
  int n_run = 0;
  std::vector<std::string> commands = commands_of("README.md");
  for (const std::string& command : commands_of("docs/compare.md")) commands.push_back(command);
  for (const std::string& command : commands) {
    CAPTURE(command);
    if (command.rfind("make ", 0) == 0) {  // running it here would build the project inside its own test
      CHECK(makefile.find("\n" + command.substr(5) + ":") != std::string::npos);
      continue;
    }
    const ProgramRun run = run_shell(folder, command);
    INFO(run.err);
    CHECK(run.exit_code == 0);
    ++n_run;
  }
  CHECK(n_run >= 10);
}
