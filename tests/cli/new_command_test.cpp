#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "program.hpp"
#include "scenarios/training_stacks.hpp"

using namespace packsim_test;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

// The sizes of Llama-3.2-1B.
const std::string kConfig =
    R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048,
  "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
  "intermediate_size": 8192, "vocab_size": 128256, "tie_word_embeddings": true})";

// The command that an output ends with: what is behind "Next...:", on the same line or the next ones.
std::string next_command(const std::string& out) {
  const std::size_t start = out.rfind("\nNext");
  REQUIRE(start != std::string::npos);
  return out.substr(out.find(':', start) + 1);
}

// The scenario as JSON, without its comments.
json scenario_in(const std::string& path) {
  return json::parse(read_text(path), nullptr, true, true);
}

}  // namespace

TEST_CASE("From the demo to a schedule of one's own job, each command is printed by the one before",
          "[plain]") {
  const TemporaryFolder folder;
  // What the user has: the files that the first printed command names.
  write_text(folder / "config.json", kConfig);
  REQUIRE(
      run_shell(folder,
                "python3 -c 'import struct; h=str(dict(descr=\"<i4\",fortran_order=False,shape=(64,)));"
                "h+=\" \"*(117-len(h))+\"\\n\"; open(\"lengths.npy\",\"wb\").write(b\"\\x93NUMPY\\x01\\x00\"+"
                "struct.pack(\"<H\",118)+h.encode()+struct.pack(\"<64i\",*range(100,6500,100)))'")
          .exit_code == 0);
  // make demo runs `packsim compare llama3.1-8b-real-mixture-128k`; one strategy prints the same last line.
  std::string command = "packsim compare llama3.1-8b-real-mixture-128k --strategy isf";
  int n_commands = 0;
  while (read_text(folder / "my.plan").empty()) {
    CAPTURE(command);
    const ProgramRun run = run_shell(folder, command);
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    ++n_commands;
    if (command.find("--write-plan") == std::string::npos) command = next_command(run.out);
    REQUIRE(n_commands < 5);
  }
  CHECK(n_commands == 4);  // demo, new, compare, run
  const json report = json::parse(read_text(folder / "packsim-report/report.json"));
  CHECK(report["manifest"]["model"] ==
        std::filesystem::path(folder.string()).filename().string());  // of config.json
  CHECK(report["lengths"]["n_samples"] == 64);
  CHECK(report["lengths"]["n_tokens"] == 208'000);  // 100 x (1 + 2 + ... + 64) = 100 x 2080
}

TEST_CASE("new writes the job that its options describe, and does not replace an edited one unless told so") {
  const TemporaryFolder folder;
  write_text(folder / "config.json", kConfig);
  write_text(folder / "my lengths.csv", "tokens\n9000\n5\n");
  const std::string command =
      "packsim new --model config.json --lengths 'my lengths.csv' --lengths gsm8k.csv --gpu h200-sxm-141gb "
      "--nodes 3 "
      "--tokens-per-iteration 1M --epochs 2 --price 2.5 --out jobs/a.json";
  const ProgramRun run = run_shell(folder, command);
  CHECK(run.err == "");
  CHECK(run.out.ends_with("\nNext: packsim compare jobs/a.json\n"));
  const json job = scenario_in(folder / "jobs/a.json");
  CHECK(job["name"] == "a");
  CHECK(job["model"] == "../config.json");
  CHECK(job["cluster"] == json({{"type", "h200-sxm-141gb"}, {"gpu_hour_price", 2.5}, {"nodes", 3}}));
  CHECK(job["training"] == json({{"tokens_per_iteration", "1024K"}, {"epochs", 2}, {"zero_stage", 1}}));
  CHECK(job["lengths"]["mix"][0]["source"] == "../my lengths.csv");
  CHECK(job["lengths"]["mix"][1]["source"] == "gsm8k.csv");  // a shipped one
  CHECK(job["packing"]["capacity_tokens"] == "16K");         // the first power of two that holds 9000
  CHECK(run_shell(folder, "packsim check jobs/a.json").exit_code == 0);

  CHECK(run_shell(folder, command).exit_code == 0);
  const std::string edited = read_text(folder / "jobs/a.json") + "// edited\n";
  write_text(folder / "jobs/a.json", edited);
  const ProgramRun refused = run_shell(folder, command);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err,
             Contains("jobs/a.json: expected no file but packsim's own, got one that was changed "
                      "since packsim wrote it\n"));
  CHECK(read_text(folder / "jobs/a.json") == edited);
  CHECK(run_shell(folder, "packsim new --lengths gsm8k.csv --out jobs/a.json --force").exit_code == 0);
  CHECK(scenario_in(folder / "jobs/a.json")["model"] == "llama3.1-8b");
}

TEST_CASE("new takes what trains the model in its users' words") {
  const TemporaryFolder folder;
  const std::string command = "packsim new --lengths gsm8k.csv --stack ";
  REQUIRE(run_shell(folder, command + "liger").exit_code == 0);
  const json liger = scenario_in(folder / "my.json");
  CHECK(liger["profile"] == "transformers-h100");
  CHECK(liger["parallelism"] ==
        json({{"kernels", "liger"}, {"loss", "fused"}, {"loss_reads", 1}, {"launch_s", 13.5e-6}}));
  CHECK(run_shell(folder, "packsim check my.json").exit_code == 0);
  REQUIRE(run_shell(folder, command + "nemo").exit_code == 0);
  const json nemo = scenario_in(folder / "my.json");
  CHECK(nemo["profile"] == "nemo-megatron-h100");
  CHECK_FALSE(nemo.contains("parallelism"));
  CHECK_THAT(run_shell(folder, command + "megatrn").err, Contains("--stack: expected"));
  CHECK_THAT(run_shell(folder, command + "nemo --profile nemo-megatron-h100").err, Contains("--profile"));
}

TEST_CASE("new says what a stack does with experts where the model has any") {
  const TemporaryFolder folder;
  const auto text = [&](const std::string& stack, const std::string& model) {
    const ProgramRun run = run_shell(
        folder, fmt::format("packsim new --lengths gsm8k.csv --stack {} --model {} --force", stack, model));
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return read_text(folder / "my.json");
  };
  CHECK_THAT(text("megatron-lm", "qwen3-30b-a3b"), Contains(R"("splits_experts": true)"));
  CHECK_THAT(text("megatron-lm", "qwen3-8b"), !Contains("splits_experts"));
  CHECK_THAT(text("transformers-4", "qwen3-30b-a3b"), Contains(R"("loss_reads": 1, "experts": "loop")"));
  CHECK_THAT(text("transformers-4", "qwen3-8b"), !Contains(R"("experts")"));
}

TEST_CASE("Every training stack has a profile and styles that a scenario may name") {
  const TemporaryFolder folder;
  for (const packsim::TrainingStack& stack : packsim::kTrainingStacks) {
    CAPTURE(stack.name);
    REQUIRE(
        run_shell(folder, fmt::format("packsim new --lengths gsm8k.csv --stack {}", stack.name)).exit_code ==
        0);
    CHECK(run_shell(folder, "packsim check my.json").exit_code == 0);
  }
}

TEST_CASE("A schedule for a new scenario fits a data set in the order of its length files", "[plain]") {
  const TemporaryFolder folder;
  write_text(folder / "a.csv", "tokens\n500\n40\n300\n");
  write_text(folder / "b.csv", "tokens\n7\n900\n");
  write_text(folder / "all.csv", "tokens\n500\n40\n300\n7\n900\n");
  REQUIRE(
      run_shell(folder, "packsim new --lengths a.csv --lengths b.csv --tokens-per-iteration 8K").exit_code ==
      0);
  const std::string command = "packsim run my.json --strategy bfd --write-plan ";
  const ProgramRun run = run_shell(folder, command + "job.plan");
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.err, !Contains("WARNING"));
  REQUIRE(run_shell(folder, "packsim pack all.csv --strategy bfd --capacity 8K --gpus 1 --plan all.plan")
              .exit_code == 0);
  const auto lengths_hash = [&](const std::string& plan) {
    return json::parse(run_shell(folder, "packsim plan --json " + plan).out).at("lengths_hash");
  };
  CHECK(lengths_hash("job.plan") == lengths_hash("all.plan"));

  // Sample i is another one: a trainer would refuse it, so the program says so first.
  for (const std::string change : {"lengths.shuffle=true", "lengths.mix.0.count=2"}) {
    const ProgramRun moved = run_shell(folder, command + "moved.plan --set " + change);
    CAPTURE(change);
    CHECK(moved.exit_code == 0);
    CHECK_THAT(moved.err,
               Contains("WARNING moved.plan will not fit a data set in the order of the length files"));
    CHECK(lengths_hash("moved.plan") != lengths_hash("all.plan"));
  }
}

TEST_CASE("Every key and strategy of a new scenario has a comment on its line or the one before") {
  const TemporaryFolder folder;
  REQUIRE(run_shell(folder, "packsim new --lengths gsm8k.csv").exit_code == 0);
  std::istringstream lines(read_text(folder / "my.json"));
  bool was_comment = false;
  int n_keys = 0;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    const bool opens = line.ends_with("{") || line.ends_with("[");
    if (line.find("\": ") != std::string::npos && !opens) {
      CHECK((was_comment || line.find("  // ") != std::string::npos));
      ++n_keys;
    }
    was_comment = line.find_first_not_of(' ') == line.find("//");
  }
  CHECK(n_keys > 35);  // 24 strategies and 16 keys
}

TEST_CASE("new --trainer begins with what the trainer does today, executed by its stack") {
  const TemporaryFolder folder;
  write_text(folder / "few.csv", "tokens\n5\n");
  REQUIRE(run_shell(folder, "packsim new --lengths few.csv --trainer trl --out trl.json").exit_code == 0);
  const json trl = scenario_in(folder / "trl.json");
  CHECK(trl["trainer"] == "trl");
  CHECK(trl["baseline"] == "trl_bfd");
  CHECK(trl["profile"] == "transformers-h100");
  CHECK(run_shell(folder, "packsim check trl.json").exit_code == 0);
}

TEST_CASE("new asks on a terminal alone") {
  const TemporaryFolder folder;
  write_text(folder / "few.csv", "tokens\n5\n");
  const ProgramRun piped = run_shell(folder, "yes few.csv | packsim new");
  CHECK(piped.exit_code == 2);
  CHECK(piped.out.empty());
  CHECK(piped.err ==
        "packsim: --lengths: expected a file of token lengths, got none; packsim.lengths makes one of your "
        "data: python "
        "-m packsim.lengths DATA --column text --tokenizer tokenizer.json --out lengths.npy\n");
  // Answers: the default model, no file at first, the default cluster, two nodes, any trainer, a stack, the
  // default tokens of a step (16K for each of 16 GPUs), three epochs, a price and a file name.
  const ProgramRun asked = run_shell(folder,
                                     "printf '\\n\\nfew.csv\\n\\n2\\n\\ndeepspeed\\n\\n3\\n2.25\\n"
                                     "tty.json\\n' | script -qec 'packsim new' /dev/null");
  INFO(asked.out);
  CHECK(asked.exit_code == 0);
  CHECK(asked.out.find("Tokens of an optimizer step [256K]: ") != std::string::npos);
  const json job = scenario_in(folder / "tty.json");
  CHECK(job["cluster"] == json({{"type", "h100-sxm-80gb"}, {"nodes", 2}, {"gpu_hour_price", 2.25}}));
  CHECK(job["lengths"]["mix"][0]["source"] == "few.csv");
  CHECK(job["profile"] == "deepspeed-ulysses-h100");
  CHECK(job["training"] == json({{"tokens_per_iteration", "256K"}, {"epochs", 3}, {"zero_stage", 1}}));
  // Other tokens, and the default of no price.
  const ProgramRun free = run_shell(
      folder,
      "printf '\\nfew.csv\\n\\n\\n\\n\\n1500\\n\\n\\nb.json\\n' | script -qec 'packsim new' /dev/null");
  INFO(free.out);
  CHECK(free.exit_code == 0);
  CHECK(scenario_in(folder / "b.json")["training"]["tokens_per_iteration"] == 1500);
  CHECK_FALSE(scenario_in(folder / "b.json")["cluster"].contains("gpu_hour_price"));
  const ProgramRun bad = run_shell(
      folder, "printf '\\nfew.csv\\n\\nmany\\n' | script -qec 'packsim new --out c.json' /dev/null");
  CHECK(bad.exit_code == 2);
  CHECK(bad.out.find("Nodes: expected integer in 1..65536, got many") != std::string::npos);
  for (const char* price : {"nan", "-1"}) {
    CAPTURE(price);
    const ProgramRun refused =
        run_shell(folder, "printf '\\nfew.csv\\n\\n\\n\\n\\n\\n\\n" + std::string(price) +
                              "\\n' | script -qec 'packsim new' /dev/null");
    CHECK(refused.exit_code == 2);
    CHECK(refused.out.find("(0: no costs): expected number >= 0, got " + std::string(price)) !=
          std::string::npos);
  }
}

TEST_CASE("new refuses what no scenario could have, before it writes") {
  const TemporaryFolder folder;
  const auto refuses = [&](const std::string& arguments, const std::string& message) {
    const ProgramRun run = run_shell(folder, "packsim new " + arguments);
    CAPTURE(arguments, run.err);
    CHECK(run.exit_code != 0);
    CHECK(run.err.find(message) != std::string::npos);
    CHECK(read_text(folder / "my.json").empty());
  };
  refuses("--lengths gsm8k.csv --model llama3.1-8", "did you mean llama3.1-8b?");
  refuses("--lengths gsm8k.csv --cluster h100-smx-80gb", "did you mean h100-sxm-80gb?");
  refuses("--lengths gsm8k.csv --profile any-framework-h10", "did you mean any-framework-h100?");
  refuses("--lengths gsm8k.csv --trainer tlr", "did you mean trl?");
  refuses("--lengths gsm8k.csv --gpu a40-48gb", "--gpu: expected a GPU of a cluster type");
  refuses("--lengths gsm8k.csv --gpu a40-48gb --cluster h100-sxm-80gb", "excludes");
  refuses("--lengths missing.csv", "missing.csv: No such file or directory");
  refuses("--lengths few.parquet", "python -m packsim.lengths few.parquet");
  refuses("--lengths -", "--lengths: expected a file, which the scenario can name, got standard input");
  refuses("--lengths gsm8k.csv --nodes 0", "--nodes");
  refuses("--lengths gsm8k.csv --price 0", "--price");
  refuses("--lengths gsm8k.csv --tokens-per-iteration 1Q", "such as 65536 or 64K, got \"1Q\"");
}
