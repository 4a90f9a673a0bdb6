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
    {"list", 2, true,
     "packsim: list takes WHAT; WHAT is missing: one of strategies, models, gpus, clusters, networks, "
     "trainers, scenarios, profiles, hardware-profiles, support\n"},
    {"list nothing", 2, true,
     "packsim: what: expected one of strategies, models, gpus, clusters, networks, trainers, scenarios, "
     "profiles, "
     "hardware-profiles, support, got \"nothing\"\n"},
    {"list strategis", 2, true,
     "packsim: what: expected one of strategies, models, gpus, clusters, networks, trainers, scenarios, "
     "profiles, "
     "hardware-profiles, support (did you mean strategies?), got \"strategis\"\n"},
    {"compare", 2, true,
     "packsim: compare takes SCENARIO; SCENARIO is missing: Scenario file, the name of a shipped one, or - "
     "for standard input\n"},
    {"compare missing.json", 3, false, "packsim: missing.json: No such file or directory\n"},
    {"compare few.json --level slow", 2, true, "packsim: --level: expected one of step, op, got \"slow\"\n"},
    {"compare few.json --threads 0", 2, true, "packsim: --threads: Value 0 not in range 1 to 256\n"},
    {"compare few.json --threads x", 2, true, "packsim: --threads: Value x not in range 1 to 256\n"},
    {"run few.json", 2, false, "packsim: run: expected --strategy or --plan, got neither\n"},
    {"run few.json --strategy nobody", 2, false,
     "packsim: strategy: expected a strategy of few.json, one of isf, got \"nobody\"\n"},
    {"run few.json --strategy isf --plan p", 2, true, "packsim: --strategy excludes --plan\n"},
    {"run few.json --strategy isf --normaliser token", 2, true,
     "packsim: --normaliser: expected one of stable, token_mean, sample_mean, longalign, sum (did you mean "
     "token_mean?), got "
     "\"token\"\n"},
    {"run few.json --strategy ifs", 2, false,
     "packsim: strategy: expected a strategy of few.json, one of isf (did you mean isf?), got \"ifs\"\n"},
    {"trace few.json --stratgy isf", 2, true,
     "packsim: unknown option \"--stratgy\" of packsim trace (did you mean --strategy?)\n"},
    {"compare few.json --stratgy=isf --thread 2", 2, true,
     "packsim: unknown option \"--stratgy\" of packsim compare (did you mean --strategy?)\n"
     "packsim: unknown option \"--thread\" of packsim compare (did you mean --threads?)\n"},
    {"trace few.json", 2, true, "packsim: --strategy is required\n"},
    {"trace few.json --strategy isf --iteration -1", 2, false,
     "packsim: --iteration: expected median, slowest or the number of an iteration from 0, got \"-1\"\n"},
    {"trace few.json --strategy isf --iteration 99999999999999999999", 2, false,
     "packsim: --iteration: expected median, slowest or the number of an iteration from 0, got "
     "\"99999999999999999999\"\n"},
    {"trace few.json --strategy isf --ranks -1", 2, true,
     "packsim: --ranks: Value -1 not in range 0 to 2147483647\n"},
    {"pack", 2, true, "packsim: pack takes LENGTHS; LENGTHS is missing: CSV, JSONL, NPY or histogram JSON\n"},
    {"pack few.csv", 2, true, "packsim: --strategy is required\n"},
    {"pack few.txt --strategy ffd --capacity 8", 2, false,
     "lengths: expected a file of a known kind (.csv, .jsonl, .npy, .json), got \"few.txt\"\n"},
    {"pack few.csv --strategy ffdd --capacity 64K", 2, true,
     "packsim: --strategy: expected one of none, random, sorted, isf, ffd, ffs, bfd, bfs, spfhp, lpfhp, "
     "wrapped, "
     "hbp, trl_bfd, axolotl_multipack, nemo_ffs, longalign, longalign_sorted, wlb, megatron_hybrid_cp, "
     "megatron_dynamic_cp, megatron_dp_balanced, verl_kk, slime_kk, prime_rl, trl_lpt, planner, flexsp (did "
     "you mean ffd?), got "
     "\"ffdd\"\n"},
    {"pack few.csv --strategy ffd --capacity 0", 2, true,
     "packsim: --capacity: expected tokens in 1..16777216, such as 65536 or 64K, got \"0\"\n"},
    {"pack few.csv --strategy ffd --capacity 8K,x", 2, true,
     "packsim: --capacity: expected tokens in 1..16777216, such as 65536 or 64K, got \"x\"\n"},
    {"pack few.csv --strategy ffd --capacity 8K --tokens-per-iteration 64q", 2, true,
     "packsim: --tokens-per-iteration: expected tokens in 0..1000000000000, such as 65536 or 64K, got "
     "\"64q\"\n"},
    {"pack few.csv --strategy verl_kk --capacity 8K --batch-tokens 64q", 2, false,
     "packsim: --batch-tokens: expected integer in 0..1000000000000, got 64q\n"},
    {"sweep few.json --shard 3/2", 2, false,
     "packsim: --shard: expected I/N with I from 1 to N, such as 2/8, got \"3/2\"\n"},
    {"sweep few.json --ray auto --shard 1/2", 2, true, "packsim: --shard excludes --ray\n"},
    {"sweep few.json --ray auto --threads 2", 2, true, "packsim: --threads excludes --ray\n"},
    {"sweep few.json --ray ''", 2, false,
     "packsim: --ray: expected the address of a cluster, such as auto or 10.0.0.1:6379, got \"\"\n"},
    {"sweep few.json --ray", 2, true, "packsim: --ray: 1 required ADDRESS missing\n"},
    {"tune few.json --lengths 8k,17M", 2, true,
     "packsim: --lengths: expected tokens in 1..16777216, such as 65536 or 64K, got \"17M\"\n"},
    {"plan missing.plan", 3, false, "packsim: missing.plan: No such file or directory\n"},
    {"plan few.csv", 2, false,
     "packsim: few.csv: header: expected a plan file, got a file of 9 other bytes\n"},
    {"", 2, true,
     "packsim: expected a command, got none (known: new, compare, run, sweep, recommend, page, advise, "
     "explain, "
     "diff, plot, "
     "trace, "
     "pack, plan, list, check, calibrate, "
     "tune, validate, schema, completion, man)\n"},
    {"compre few.json", 2, true, "packsim: unknown command \"compre\" (did you mean compare?)\n"},
    {"few.json", 2, true,
     "packsim: unknown command \"few.json\" (known: new, compare, run, sweep, recommend, page, advise, "
     "explain, "
     "diff, plot, "
     "trace, "
     "pack, plan, list, check, calibrate, "
     "tune, validate, schema, completion, man)\n"},
    {"page", 2, false, "packsim: expected a database of packsim sweep, --recommendation, or both\n"},
    {"page missing.db", 3, false, "packsim: missing.db: cannot read the sweep: No such file or directory\n"},
    {"page few.csv", 2, false,
     "packsim: few.csv: expected a database of packsim sweep, got file is not a database\n"},
    {"page --recommendation few.json", 2, false,
     "few.json: /candidates: expected array of at least one object, got nothing\n"},
    {"calibrate", 2, true,
     "packsim: expected a command, got none (known: plan, run, fit, validate, compare, coverage)\n"},
    {"calibrate fitt", 2, true, "packsim: unknown command \"fitt\" (did you mean fit?)\n"},
    {"calibrate fit", 2, true,
     "packsim: calibrate fit takes MEASUREMENTS; MEASUREMENTS is missing: Measurement files of one kind of "
     "GPU\n"},
    {"calibrate fit missing.jsonl --name a --hardware h.json", 3, false,
     "packsim: missing.jsonl: No such file or directory\n"},
    {"calibrate fit few.csv --name a --hardware h.json", 2, false,
     "few.csv: line 1, column 1: expected valid JSON, got \"tokens\"\nfew.csv:2: top level: expected object, "
     "got 5 (number)\n"},
    {"tune few.json --sp 0", 2, true, "packsim: --sp: Value 0 not in range 1 to 1048576\n"},
    {"compare few.json --strategies nobody", 2, true,
     "packsim: unknown option \"--strategies\" of packsim compare (did you mean --strategy?)\n"},
    {"schema scenaro", 2, true,
     "packsim: kind: expected one of scenario, model, cluster, network, gpu, prices (did you mean "
     "scenario?), got "
     "\"scenaro\"\n"},
    {"check few.json extra", 2, true,
     "packsim: expected no more arguments of packsim check, got \"extra\"\n"},
    {"plan few.csv few.csv", 2, true,
     "packsim: expected no more arguments of packsim plan, got \"few.csv\"\n"},
    {"calibrate plan --models nothing", 2, true,
     "packsim: unknown option \"--models\" of packsim plan (did you mean --model?)\n"},
    {"calibrate validate few.csv", 2, true,
     "packsim: calibrate validate takes PROFILE and STEPS; STEPS is missing: Measurement files with steps, "
     "held out from every fit\n"},
    {"diff", 2, true,
     "packsim: diff takes BEFORE and NOW; BEFORE is missing: report.json, or the folder that it is in\n"},
    {"diff rep", 2, true,
     "packsim: diff takes BEFORE and NOW; NOW is missing: The report to compare with it\n"},
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
