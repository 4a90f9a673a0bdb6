#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "program.hpp"

using namespace packsim_test;
using nlohmann::json;

namespace {

// A model of the most layers that one may have, so narrow that the number of checkpointed layers matters.
void write_deep_job(const TemporaryFolder& folder) {
  json model = json::parse(read_text(source_dir() + "/models/architectures/llama3.1-8b.json"));
  for (const auto& [key, value] : {std::pair{"layers", 4096},
                                   {"hidden_size", 128},
                                   {"heads", 4},
                                   {"kv_heads", 4},
                                   {"head_dim", 64},
                                   {"ffn_size", 128},
                                   {"published_parameters", 0}})
    model[key] = value;
  write_text(folder / "model.json", model.dump());
  write_text(folder / "deep.json", R"({
    "format": 1, "name": "deep", "model": "model.json", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072, "zero_stage": 3},
    "lengths": {"mix": [{"source": "qmsum.csv"}]}, "packing": {"over_long": "truncate"},
    "strategies": [{"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4}]
  })");
}

}  // namespace

TEST_CASE("Work of more than a minute is announced before it starts") {
  const TemporaryFolder folder;
  const std::string job = R"({
    "format": 1, "name": "long", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 8192, "epochs": 10000, "zero_stage": 3},
    "lengths": {"mix": [{"source": "two.csv"}]},
    "strategies": [{"strategy": "isf", "capacity_tokens": 8192, "sp_degree": 8}]
  })";
  // 2 samples of 8 192 tokens are 2 iterations an epoch. At op level: 20 000 iterations of 8 GPUs x 5e-5 s =
  // 8 s, on 64 GPUs 64 s.
  write_text(folder / "two.csv", "tokens\n8192\n8192\n");
  write_text(folder / "short.json", job);
  std::string of_8_nodes = job;
  of_8_nodes.replace(of_8_nodes.find("\"nodes\": 1"), 10, "\"nodes\": 8");
  write_text(folder / "long.json", of_8_nodes);
  const auto first_line = [&](const std::string& arguments) {
    const ProgramRun run =
        run_shell(folder, "timeout -s INT 0.5 packsim compare --level op --out report " + arguments);
    return run.err.substr(0, run.err.find('\n'));
  };
  CHECK(first_line("long.json") == "This may take about 2 minutes; Ctrl-C ends it.");
  CHECK(first_line("short.json").find("minute") == std::string::npos);
  CHECK(first_line("long.json --quiet").find("minute") == std::string::npos);
  // One strategy takes no less on two threads.
  CHECK(first_line("long.json --threads 2") == "This may take about 2 minutes; Ctrl-C ends it.");
}

TEST_CASE("Advice of more than a minute is announced before it starts") {
  const TemporaryFolder folder;
  std::string lengths = "tokens\n";
  for (int i = 0; i < 100; ++i) lengths += "8192\n";
  write_text(folder / "many.csv", lengths);
  write_text(folder / "job.json", R"({
    "format": 1, "name": "long", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 8192, "epochs": 10000, "zero_stage": 3},
    "lengths": {"mix": [{"source": "many.csv"}]},
    "strategies": [{"strategy": "isf", "capacity_tokens": 8192, "sp_degree": 8}]
  })");
  const auto first_line = [&](const std::string& arguments) {
    const ProgramRun run = run_shell(folder, "timeout -s INT 0.5 packsim advise job.json " + arguments);
    return run.err.substr(0, run.err.find('\n'));
  };
  // 1 000 000 packs x 4e-5 s = 40 s: the job alone is not long, but with one change it takes 80 s.
  CHECK_THAT(first_line(""), Catch::StartsWith("This may take about "));
  CHECK(first_line("--quiet").find("minute") == std::string::npos);
  CHECK(first_line("--set training.epochs=100").find("minute") == std::string::npos);
}

TEST_CASE("A trace of more than a minute is announced before it starts") {
  const TemporaryFolder folder;
  write_text(folder / "one.csv", "tokens\n8192\n");
  write_text(folder / "job.json", R"({
    "format": 1, "name": "wide", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 10000},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 81920000, "zero_stage": 3},
    "lengths": {"mix": [{"source": "one.csv"}]}, "packing": {"last_iteration": "repeat"},
    "strategies": [{"strategy": "isf", "capacity_tokens": 8192, "sp_degree": 8}]
  })");
  const auto first_line = [&](const std::string& arguments) {
    const ProgramRun run =
        run_shell(folder, "timeout -s INT 0.5 packsim trace job.json --strategy isf " + arguments);
    return run.err.substr(0, run.err.find('\n'));
  };
  // 80 000 GPUs x 8e-4 s = 64 s; 8 000 GPUs take a tenth.
  CHECK(first_line("") == "This may take about 2 minutes; Ctrl-C ends it.");
  CHECK(first_line("--quiet").find("minute") == std::string::npos);
  CHECK(first_line("--set cluster.nodes=1000").find("minute") == std::string::npos);
}

// The address sanitizer does not start under ulimit -v.
TEST_CASE("A step at op level that takes more memory than is free is refused before it is simulated",
          "[plain]") {
  const TemporaryFolder folder;
  // 4 000 ranks of 8 GPUs, none of which has the same micro-batch as another.
  std::string lengths = "tokens\n";
  for (int i = 0; i < 4000; ++i) lengths += std::to_string(4100 + i) + "\n";
  write_text(folder / "many.csv", lengths);
  write_text(folder / "job.json", R"({
    "format": 1, "name": "wide", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 4000},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 32768000, "zero_stage": 3},
    "lengths": {"mix": [{"source": "many.csv"}]}, "packing": {"last_iteration": "repeat"},
    "strategies": [{"strategy": "isf", "capacity_tokens": 8192, "sp_degree": 8}]
  })");
  const auto run = [&](const std::string& command) {
    return run_shell(folder, "ulimit -v 300000; packsim " + command + " --quiet");
  };
  // 4 000 ranks x 32 layers x 26 operations = 3.3 million, of 110 bytes, or of 448 with their text.
  const ProgramRun compared = run("compare job.json --level op --out report");
  CHECK(compared.exit_code == 3);
  CHECK_THAT(compared.err,
             Catch::StartsWith("packsim: one step at op level takes about 0.37 GB of memory, "));
  const ProgramRun traced = run("trace job.json --strategy isf --iteration 0 --out trace.json");
  CHECK(traced.exit_code == 3);
  CHECK_THAT(traced.err, Catch::StartsWith("packsim: one step at op level takes about 1.5 GB of memory, "));
  // Of 100 of the nodes, a step takes 9 MB, or 37 MB with its text.
  CHECK(run("trace job.json --strategy isf --iteration 0 --out trace.json --set cluster.nodes=100 "
            "--set training.tokens_per_iteration=819200")
            .exit_code == 0);
}

TEST_CASE("A step that takes long says every five seconds that it goes on") {
  const TemporaryFolder folder;
  write_text(folder / "job.json", R"({
    "format": 1, "name": "slow", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 65536, "zero_stage": 3},
    "lengths": {"mix": [{"source": "-"}]},
    "strategies": [{"strategy": "isf", "capacity_tokens": 8192, "sp_degree": 8}]
  })");
  // The lengths come after 7 s; until then, "reading lengths" is all there is to say, and it is said once.
  const ProgramRun run = run_shell(
      folder,
      "(sleep 7; echo tokens; for i in 1 2 3 4 5 6 7 8; do echo 8000; done) | packsim compare job.json");
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.err, Catch::StartsWith("[5 s] reading lengths\n"));
}

TEST_CASE("Tuning of more than a minute is announced before it starts") {
  const TemporaryFolder folder;
  write_text(folder / "one.csv", "tokens\n8192\n");
  write_text(folder / "job.json", R"({
    "format": 1, "name": "long", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 16384, "zero_stage": 3},
    "lengths": {"mix": [{"source": "one.csv", "weight": 1}], "count": 200000, "with_replacement": true},
    "strategies": [{"strategy": "isf", "capacity_tokens": 8192, "sp_degree": 8}]
  })");
  const auto first_line = [&](const std::string& arguments) {
    const ProgramRun run =
        run_shell(folder, "timeout -s INT 0.5 packsim tune job.json --sp 8 --iterations 100000 " + arguments);
    return run.err.substr(0, run.err.find('\n'));
  };
  // 200 000 samples are 100 000 iterations: 100 000 x 3e-5 s + 200 000 x 3.6e-7 s = 3.07 s a length.
  std::string lengths = "--lengths 8192";
  for (int i = 1; i < 20; ++i) lengths += "," + std::to_string(8192 + 8 * i);
  CHECK(first_line(lengths) == "This may take about 2 minutes; Ctrl-C ends it.");
  CHECK(first_line(lengths + " --quiet").find("minute") == std::string::npos);
  CHECK(first_line("--lengths 8192").find("minute") == std::string::npos);
}

// Of 4 096 layers 2 848 have to be checkpointed, which is found by trying 0, 1, 2 and so on.
TEST_CASE("A model of 4 096 layers is compared within a minute of CPU time", "[slow]") {
  const TemporaryFolder folder;
  write_deep_job(folder);
  const ProgramRun run = run_shell(folder, "ulimit -t 60; packsim compare deep.json --json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(json::parse(run.out)["runs"][0]["groups"][0]["gc_layers"] == 2848);
}
