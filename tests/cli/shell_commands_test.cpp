#include <catch2/catch.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"

using namespace packsim_test;

namespace {

// What a shell offers for the last word of a line, separated by "|"; none where there is no such shell.
using Completed = std::optional<std::string>;

Completed in_bash(const TemporaryFolder& folder, const std::string& line) {
  const ProgramRun run = run_shell(
      folder, "bash -c 'source <(packsim completion bash); COMP_WORDS=(" + line +
                  (line.ends_with(" ") ? "\"\"" : "") +
                  "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _packsim; printf \"%s|\" \"${COMPREPLY[@]}\"'");
  CHECK(run.err == "");
  return run.out;
}

bool has_shell(const TemporaryFolder& folder, const std::string& shell) {
  if (run_shell(folder, "command -v " + shell).exit_code == 0) return true;
  WARN(shell + " is not installed, so its completion is not tested (cmake/install_deps.sh tests)");
  return false;
}

// Types the line and Tab into a zsh of its own, whose compadd also prints the words.
constexpr const char* kZshTypes = R"zsh(zmodload zsh/zpty
cat > setup.zsh <<'SETUP'
source <(packsim completion zsh)
bindkey '^I' complete-word
finish() { print '>>>'; exit }
comppostfuncs=(finish)
compadd() {
  local -a words
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    builtin compadd -A words "$@"
    (($#words)) && print -rl -- '' '='$^words
  fi
  builtin compadd "$@"
}
SETUP
zpty shell zsh -f -i
zpty -w shell 'PROMPT=; source ./setup.zsh'
zpty -n -w shell "$1"$'\t'
while zpty -r shell part; do all+=$part; [[ $all == *'>>>'* ]] && break; done
for line in ${(f)all//$'\r'/}; do [[ $line == '='* ]] && printf '%s|' "${line#'='}"; done
)zsh";

Completed in_zsh(const TemporaryFolder& folder, const std::string& line) {
  if (!has_shell(folder, "zsh")) return std::nullopt;
  write_text(folder / "types.zsh", kZshTypes);
  const ProgramRun run = run_shell(folder, "timeout 20 zsh -f types.zsh '" + line + "'");
  CHECK(run.err == "");
  return run.out;
}

// fish writes a description behind each word, and sorts them.
Completed in_fish(const TemporaryFolder& folder, const std::string& line) {
  if (!has_shell(folder, "fish")) return std::nullopt;
  const ProgramRun run =
      run_shell(folder, "HOME=$PWD fish --no-config -c 'packsim completion fish | source; complete -C \"" +
                            line + "\"' | cut -f 1 | tr '\\n' '|'");
  CHECK(run.err == "");
  return run.out;
}

struct Completion {
  std::string line;
  std::string words;
};

// Words come from commands, options, their checks, and files of the data root.
const std::vector<Completion> kCompletions = {
    {"packsim comp", "compare|completion|"},
    {"packsim calibrate co", "compare|coverage|"},
    {"packsim list str", "strategies|"},
    {"packsim list m", "models|"},  // and no file, as there can be no other value
    {"packsim compare --l", "--level|"},
    {"packsim compare llama3.1-8b-h", "llama3.1-8b-hybrid-128k|"},
    {"packsim pack x --strategy ff", "ffd|ffs|"},
    {"packsim new --model qwen3-8", "qwen3-8b|"},
    {"packsim calibrate compare h200-n", "h200-network-public|"},
    {"packsim check min", "mine.json|"},
};

}  // namespace

TEST_CASE("bash, zsh and fish complete commands, options, and their values from checks and files") {
  const TemporaryFolder folder;
  write_text(folder / "mine.json", "{}");
  for (const Completion& expected : kCompletions) {
    CAPTURE(expected.line);
    CHECK(in_bash(folder, expected.line).value() == expected.words);
    CHECK(in_zsh(folder, expected.line).value_or(expected.words) == expected.words);
    CHECK(in_fish(folder, expected.line).value_or(expected.words) == expected.words);
  }
}

TEST_CASE("No shell offers files where the words are all that a value can be") {
  const TemporaryFolder folder;
  write_text(folder / "step.json", "{}");
  const std::string line = "packsim compare x --level s";
  CHECK(in_bash(folder, line) == "step|");
  CHECK(in_zsh(folder, line).value_or("step|") == "step|");
  CHECK(in_fish(folder, line).value_or("step|") == "step|");
  CHECK(run_shell(folder, "packsim completion bsh").err.find("(did you mean bash?)") != std::string::npos);
}

TEST_CASE("Shells offer files with spaces as one word") {
  const TemporaryFolder folder;
  write_text(folder / "my job.json", "{}");
  CHECK(in_bash(folder, "packsim check my") == "my job.json|");
  CHECK(in_zsh(folder, "packsim check my").value_or("my\\ job.json|") == "my\\ job.json|");
  CHECK(in_fish(folder, "packsim check my").value_or("my job.json|") == "my job.json|");
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
