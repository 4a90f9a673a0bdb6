#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "program.hpp"

using namespace packsim_test;

namespace {

struct BadArguments {
  std::string_view arguments;
  int exit_code;  // 2: the user's mistake; 3: the machine has no such file
  bool has_hint;  // where to find help with the command line
  std::string_view message;
};

constexpr BadArguments kBadArguments[] = {
    {"list", 2, true, "packsim: what is required\n"},
    {"list nothing", 2, true,
     "packsim: what: nothing not in "
     "{strategies,models,gpus,clusters,networks,scenarios,profiles,hardware-profiles,support}\n"},
    {"compare", 2, true, "packsim: scenario is required\n"},
    {"compare missing.json", 3, false, "packsim: missing.json: No such file or directory\n"},
    {"compare few.json --level slow", 2, true, "packsim: --level: slow not in {step,op}\n"},
    {"compare few.json --threads 0", 2, true, "packsim: --threads: Value 0 not in range 1 to 256\n"},
    {"compare few.json --threads x", 2, true, "packsim: --threads: Value x not in range 1 to 256\n"},
    {"run few.json", 2, false, "packsim: run: expected --strategy or --plan, got neither\n"},
    {"run few.json --strategy nobody", 2, false,
     "packsim: strategy: expected one of isf (the strategies of few.json), got \"nobody\"\n"},
    {"run few.json --strategy isf --plan p", 2, true, "packsim: --strategy excludes --plan\n"},
    {"run few.json --strategy isf --normaliser token", 2, true,
     "packsim: --normaliser: token not in {stable,token_mean,sample_mean,longalign,sum}\n"},
    {"trace few.json", 2, true, "packsim: --strategy is required\n"},
    {"trace few.json --strategy isf --iteration -1", 2, false,
     "packsim: --iteration: expected median, slowest or the number of an iteration from 0, got \"-1\"\n"},
    {"trace few.json --strategy isf --iteration 99999999999999999999", 2, false,
     "packsim: --iteration: expected median, slowest or the number of an iteration from 0, got "
     "\"99999999999999999999\"\n"},
    {"trace few.json --strategy isf --ranks -1", 2, true,
     "packsim: --ranks: Value -1 not in range 0 to 2147483647\n"},
    {"pack", 2, true, "packsim: lengths is required\n"},
    {"pack few.csv", 2, true, "packsim: --strategy is required\n"},
    {"pack few.txt --strategy ffd --capacity 8", 2, false,
     "lengths: expected a file of a known kind (.csv, .jsonl, .npy, .json), got \"few.txt\"\n"},
    {"pack few.csv --strategy ffd --capacity 0", 2, false,
     "packsim: capacities_tokens[0]: expected 1..16777216, got 0\n"},
    {"pack few.csv --strategy ffd --capacity x", 2, true, "packsim: Could not convert: --capacity = x\n"},
    {"plan missing.plan", 3, false, "packsim: missing.plan: No such file or directory\n"},
    {"plan few.csv", 2, false,
     "packsim: few.csv: header: expected a plan file, got a file of 9 other bytes\n"},
    {"", 2, true,
     "packsim: expected a command, got none (known: compare, run, trace, pack, plan, list, check, calibrate, "
     "tune, "
     "validate)\n"},
    {"compre few.json", 2, true, "packsim: unknown command \"compre\" (did you mean compare?)\n"},
    {"few.json", 2, true,
     "packsim: unknown command \"few.json\" (known: compare, run, trace, pack, plan, list, check, calibrate, "
     "tune, "
     "validate)\n"},
    {"calibrate", 2, true,
     "packsim: expected a command, got none (known: plan, run, fit, validate, compare, coverage)\n"},
    {"calibrate fitt", 2, true, "packsim: unknown command \"fitt\" (did you mean fit?)\n"},
    {"calibrate fit", 2, true, "packsim: measurements is required\n"},
    {"calibrate fit missing.jsonl --name a --hardware h.json", 3, false,
     "packsim: missing.jsonl: No such file or directory\n"},
    {"calibrate fit few.csv --name a --hardware h.json", 2, false,
     "few.csv: line 1, column 1: expected valid JSON, got \"tokens\"\nfew.csv:2: top level: expected object, "
     "got 5 (number)\n"},
    {"tune few.json --sp 0", 2, true, "packsim: --sp: Value 0 not in range 1 to 1048576\n"},
    {"compare few.json --strategies nobody", 2, true,
     "packsim: The following arguments were not expected: nobody --strategies\n"},
    {"check few.json extra", 2, true, "packsim: The following argument was not expected: extra\n"},
    {"plan few.csv few.csv", 2, true, "packsim: The following argument was not expected: few.csv\n"},
    {"calibrate plan --models nothing", 2, true,
     "packsim: The following arguments were not expected: nothing --models\n"},
    {"calibrate validate few.csv", 2, true, "packsim: steps is required\n"},
};

constexpr std::string_view kHint = "Run packsim --help for the commands, packsim COMMAND --help for one.\n";

const std::string kJob = R"({
  "format": 1, "name": "few", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
  "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072, "zero_stage": 3},
  "lengths": {"mix": [{"source": "few.csv"}]},
  "strategies": [{"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4}]
})";

}  // namespace

TEST_CASE("Every bad command line ends with its exact message") {
  const TemporaryFolder folder;
  write_text(folder / "few.json", kJob);
  write_text(folder / "few.csv", "tokens\n5\n");
  write_text(folder / "few.txt", "tokens\n5\n");
  for (const BadArguments& bad : kBadArguments) {
    CAPTURE(bad.arguments);
    const ProgramRun run = run_shell(folder, "packsim " + std::string(bad.arguments));
    CHECK(run.exit_code == bad.exit_code);
    CHECK(run.err == std::string(bad.message) + (bad.has_hint ? std::string(kHint) : ""));
    CHECK(run.out.empty());
  }
}
