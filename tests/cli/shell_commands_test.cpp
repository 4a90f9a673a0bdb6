#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"

using namespace packsim_test;

namespace {

// What bash offers for the last of the words.
std::string completed(const TemporaryFolder& folder, const std::string& words) {
  const ProgramRun run = run_shell(
      folder, "bash -c 'source <(packsim completion bash); COMP_WORDS=(" + words +
                  "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _packsim; printf \"%s|\" \"${COMPREPLY[@]}\"'");
  CHECK(run.err == "");
  return run.out;
}

}  // namespace

TEST_CASE("bash completes commands, options, and their values from checks and files") {
  const TemporaryFolder folder;
  write_text(folder / "my job.json", "{}");
  CHECK(completed(folder, "packsim comp") == "compare|completion|");
  CHECK(completed(folder, "packsim calibrate co") == "compare|coverage|");
  CHECK(completed(folder, "packsim list str") == "strategies|");
  CHECK(completed(folder, "packsim list m") == "models|");  // and no file, as there can be no other value
  CHECK(completed(folder, "packsim compare --l") == "--level|");
  CHECK(completed(folder, "packsim compare x --level \"\"") == "step|op|");
  CHECK(completed(folder, "packsim pack x --strategy ff") == "ffd|ffs|");
  CHECK(completed(folder, "packsim compare llama3.1-8b-h") == "llama3.1-8b-hybrid-128k|");
  CHECK(completed(folder, "packsim check my") == "my job.json|");
  CHECK(completed(folder, "packsim new --model qwen3-8") == "qwen3-8b|");
  CHECK(completed(folder, "packsim calibrate compare h200-n") == "h200-network-public|");
}

TEST_CASE("zsh and fish accept their scripts, where they are installed") {
  const TemporaryFolder folder;
  const ProgramRun zsh =
      run_shell(folder, "packsim completion zsh >s; ! command -v zsh >/dev/null || zsh -n s");
  const ProgramRun fish =
      run_shell(folder, "packsim completion fish >f; ! command -v fish >/dev/null || fish -n f");
  CHECK(zsh.exit_code == 0);
  CHECK(fish.exit_code == 0);
  const std::string script = read_text(folder / "f");
  CHECK(
      script.find(
          "'__fish_seen_subcommand_from compare; and not __fish_seen_subcommand_from calibrate' -l level -r "
          "-a 'step op' ") != std::string::npos);
  CHECK(run_shell(folder, "packsim completion bsh").err.find("(did you mean bash?)") != std::string::npos);
}

TEST_CASE("The manual page has every command and option, and man has nothing to say about it") {
  const TemporaryFolder folder;
  REQUIRE(run_shell(folder, "packsim man >packsim.1").exit_code == 0);
  const ProgramRun warned = run_shell(
      folder,
      "! command -v man >/dev/null || LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z packsim.1 "
      ">/dev/null; ! command -v mandoc >/dev/null || mandoc -Tlint -W warning packsim.1");
  CHECK(warned.err == "");
  CHECK(warned.out == "");
  const std::string page = read_text(folder / "packsim.1");
  for (const char* text :
       {"packsim new [options]", "packsim calibrate fit measurements", "\\-\\-write\\-plan",
        "\\-\\-tokens\\-per\\-iteration", "packsim trace scenario \\-\\-strategy STRATEGY"}) {
    CAPTURE(text);
    CHECK(page.find(text) != std::string::npos);
  }
}
