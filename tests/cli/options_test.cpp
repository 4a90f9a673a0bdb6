// The command line takes the options of strategies as their records say.

#include <algorithm>
#include <catch2/catch.hpp>

#include "program.hpp"
#include "tests/option_cases.hpp"

namespace packsim {
namespace {

using packsim_test::ProgramRun;
using packsim_test::TemporaryFolder;

std::string argument_of(const Option& option, const OptionValue& value) {
  std::string name(option.name);
  std::ranges::replace(name, '_', '-');
  return "--" + name + "='" + text_of(value) + "'";
}

}  // namespace

TEST_CASE("packsim pack takes every option of every strategy, and refuses what is outside its range",
          "[plain]") {
  const TemporaryFolder folder;
  packsim_test::write_text(folder / "few.csv", "tokens\n5\n3\n2\n");
  std::vector<const Option*> seen;
  for (const Strategy& strategy : strategies()) {
    for (const Option* option : strategy.options) {
      if (std::ranges::count(seen, option) > 0) continue;  // tests/packing has every strategy
      seen.push_back(option);
      for (const packsim_test::OptionCase& one : packsim_test::option_cases(*option)) {
        const ProgramRun run = packsim_test::run_shell(
            folder, "packsim pack few.csv --quiet --capacity 1024 --tokens-per-iteration 64 --strategy " +
                        std::string(strategy.name) + " " + argument_of(*option, one.value));
        CAPTURE(strategy.name, option->name, text_of(one.value), run.err);
        const bool is_priced = run.err.find("expected one that needs no prices") != std::string::npos;
        if (one.accepted) {
          CHECK((run.exit_code == 0 || (strategy.needs_prices && is_priced)));
        } else {
          CHECK(run.exit_code == 2);
          const std::string flag = argument_of(*option, one.value);
          CHECK(run.err.find(flag.substr(0, flag.find('=')) + ":") != std::string::npos);
          CHECK(run.err.find(text_of(one.value)) != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("the help of packsim pack and packsim list strategies name every option") {
  const TemporaryFolder folder;
  const std::string help = packsim_test::run_shell(folder, "packsim pack --help").out;
  const std::string list = packsim_test::run_shell(folder, "packsim list strategies").out;
  for (const Option* option : all_options()) {
    CAPTURE(option->name);
    const std::string flag = argument_of(*option, OptionValue(""));
    CHECK(help.find(flag.substr(0, flag.find('='))) != std::string::npos);
    CHECK(help.find(option->text) != std::string::npos);
    CHECK(list.find("\n" + std::string(option->name) + " ") != std::string::npos);
  }
}

TEST_CASE("packsim pack names every option that a strategy does not take") {
  const TemporaryFolder folder;
  packsim_test::write_text(folder / "few.csv", "tokens\n5\n");
  const ProgramRun run = packsim_test::run_shell(
      folder, "packsim pack few.csv --capacity 9 --strategy ffd --rounds 3 --no-greedy-fill");
  CHECK(run.exit_code == 2);
  CHECK(run.err.find("--rounds: expected no such option for strategy ffd") != std::string::npos);
  CHECK(run.err.find("--greedy-fill: expected no such option for strategy ffd") != std::string::npos);
}

}  // namespace packsim
