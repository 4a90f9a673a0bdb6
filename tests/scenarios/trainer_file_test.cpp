// What the shipped trainers can run, and what a scenario may ask of them. Rows are from the sources that each
// file names.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "models/plan/plan_key.hpp"
#include "models/plan/trainer.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/messages.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using packsim_test::kData;
using Messages = std::vector<std::string>;

// A plan of 32 GPUs for LLaMA-3.1-8B, which has 32 layers, 32 heads and 8 key-value heads.
struct Degrees {
  int zero_stage = 1;
  int ulysses = 1;
  int ring = 1;
  int tp = 1;
  int pp = 1;
  int gc_layers = 0;
  KeyExchange exchange = KeyExchange::ring;
};

// The key that keeps a trainer from running the plan; empty: it can.
std::string refused_key(const std::string& trainer, const Degrees& degrees) {
  ParallelPlan plan{.n_gpus = 32,
                    .tp_degree = degrees.tp,
                    .sequence = {.ulysses = degrees.ulysses, .ring = degrees.ring},
                    .pp_degree = degrees.pp,
                    .zero_stage = degrees.zero_stage,
                    .gc_layers = degrees.gc_layers,
                    .key_exchange = degrees.exchange};
  const Trainer loaded = load_trainer(trainer, kData);
  const std::vector<PlanMistake> mistakes = trainer_mistakes(&loaded, load_model("llama3.1-8b", kData), plan);
  return mistakes.empty() ? "" : mistakes.front().keys.front();
}

TEST_CASE("Each shipped trainer runs one GPU with everything in it, and says where that was read") {
  const std::vector<std::string> names = names_of(kTrainerFiles, kData);
  REQUIRE(names.size() == 20);
  for (const std::string& name : names) {
    CAPTURE(name);
    const Trainer trainer = load_trainer(name, kData);
    CHECK_FALSE(trainer.source.empty());
    CHECK_FALSE(trainer.ways.empty());
    const Transformer model = load_model("llama3.1-8b", kData);
    bool runs_any_stage = false;
    for (int stage = 0; stage <= 3; ++stage) {
      const ParallelPlan plan{.n_gpus = 8, .zero_stage = stage};
      runs_any_stage = runs_any_stage || trainer_mistakes(&trainer, model, plan).empty();
    }
    CHECK(runs_any_stage);
  }
}

TEST_CASE("A trainer runs the combinations that its sources allow, and no others") {
  struct Row {
    const char* trainer;
    Degrees degrees;
    const char* refused;
  };
  const std::vector<Row> rows = {
      {"trl", {.zero_stage = 3, .ulysses = 8}, ""},
      {"trl", {.zero_stage = 3, .tp = 2}, ""},
      {"trl", {.zero_stage = 2, .ulysses = 8, .ring = 4}, "cp_degree"},
      {"trl", {.zero_stage = 1, .ulysses = 2, .tp = 2}, "tp_degree"},
      {"trl", {.zero_stage = 1, .pp = 2}, "pp_degree"},
      {"trl", {.zero_stage = 3, .gc_layers = 16}, ""},  // every second of 32
      {"trl", {.zero_stage = 3, .gc_layers = 17}, "gc_layers"},
      {"deepspeed", {.zero_stage = 1, .pp = 4}, ""},
      {"deepspeed", {.zero_stage = 3, .pp = 4}, "pp_degree"},
      {"deepspeed", {.zero_stage = 3, .ulysses = 8, .gc_layers = 17}, ""},
      {"deepspeed", {.zero_stage = 3, .tp = 2}, "tp_degree"},
      {"torchtitan", {.zero_stage = 3, .tp = 4, .pp = 2}, ""},
      {"torchtitan", {.zero_stage = 1}, "zero_stage"},
      {"torchtitan", {.zero_stage = 3, .ulysses = 2}, "sp_degree"},
      {"megatron-lm", {.zero_stage = 1, .ulysses = 4, .ring = 2, .tp = 2}, ""},
      {"megatron-lm", {.zero_stage = 1, .ulysses = 8, .tp = 2}, "sp_degree"},  // 16 of 8 key-value heads
      {"megatron-lm", {.zero_stage = 3, .pp = 2}, "zero_stage"},
      {"megatron-lm", {.zero_stage = 1, .pp = 2, .gc_layers = 17}, ""},
      {"axolotl", {.zero_stage = 3, .ulysses = 2}, "sp_degree"},
      {"ms-swift", {.zero_stage = 3, .ulysses = 8, .ring = 4}, ""},
      {"llama-factory", {.zero_stage = 1}, "zero_stage"},
      {"unsloth", {.zero_stage = 0, .gc_layers = 32}, ""},
      {"unsloth", {.zero_stage = 1}, "zero_stage"},
      {"hbp", {.zero_stage = 1, .ulysses = 16, .gc_layers = 5}, ""},
      {"hbp", {.zero_stage = 1, .ring = 2}, "cp_degree"},
      {"torchtitan", {.zero_stage = 3, .ring = 4, .exchange = KeyExchange::all_gather}, ""},
      {"torchtitan", {.zero_stage = 3, .ring = 4}, "cp_exchange"},
      {"axolotl", {.zero_stage = 3, .ring = 4, .exchange = KeyExchange::all_gather_packs}, ""},
      {"axolotl", {.zero_stage = 3, .ring = 4, .exchange = KeyExchange::all_gather}, "cp_exchange"},
      {"megatron-lm", {.zero_stage = 1, .ring = 4, .tp = 2, .exchange = KeyExchange::all_gather}, ""},
      {"megatron-lm",
       {.zero_stage = 1, .ulysses = 2, .ring = 4, .exchange = KeyExchange::all_gather},
       "sp_degree"},
      {"nemo-automodel", {.zero_stage = 3, .ring = 4, .exchange = KeyExchange::all_gather}, "cp_exchange"},
      // Without GPUs that share documents it does not matter.
      {"trl", {.zero_stage = 3, .exchange = KeyExchange::all_gather}, ""},
      {"any", {.zero_stage = 3, .ulysses = 8, .ring = 2, .exchange = KeyExchange::all_gather}, ""},
      {"any", {.zero_stage = 3, .ulysses = 8, .ring = 2, .tp = 2, .gc_layers = 7}, ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.trainer, row.degrees.zero_stage, row.degrees.ulysses, row.degrees.ring, row.degrees.tp,
            row.degrees.pp, row.degrees.gc_layers, static_cast<int>(row.degrees.exchange));
    CHECK(refused_key(row.trainer, row.degrees) == row.refused);
  }
}

TEST_CASE("Checkpointed layers are rounded up to what the trainer can") {
  const Transformer model = load_model("llama3.1-8b", kData);
  const ParallelPlan plan{.n_gpus = 8, .zero_stage = 3};
  const Trainer trl = load_trainer("trl", kData);
  CHECK(trainer_layers(&trl, model, plan, 12) == 16);  // 32 / 2; the next fewer is ceil(32 / 3) = 11
  CHECK(trainer_layers(&trl, model, plan, 11) == 11);
  CHECK(trainer_layers(&trl, model, plan, 17) == 32);
  const Trainer axolotl = load_trainer("axolotl", kData);
  CHECK(trainer_layers(&axolotl, model, plan, 1) == 32);
  CHECK(trainer_layers(&axolotl, model, plan, 0) == 0);
  CHECK(trainer_layers(nullptr, model, plan, 17) == 17);
}

TEST_CASE("check refuses what the named trainer cannot run, with the reason") {
  const TempFolder folder;
  folder.write("lengths.csv", "1000\n");
  const auto mistakes = [&](const std::string& trainer, const std::string& strategies) {
    const std::string path = folder.write(
        "s.json", scenario_text(strategies, "\"trainer\": \"" + trainer + "\", ", ", \"zero_stage\": 3"));
    Messages messages = messages_of([&] { load_scenario(path, kData); });
    for (std::string& message : messages) message = message.substr(path.size() + 2);
    return messages;
  };
  CHECK(mistakes("trl", R"({"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8})").empty());
  CHECK(mistakes("trl", R"({"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8, "cp_degree": 2})") ==
        Messages{"/strategies/0/cp_degree: expected 1 for TRL's SFTTrainer (DeepSpeed), got 2 (number)"});
  CHECK(
      mistakes("trl", R"({"strategy": "hbp", "groups": [{"capacity_tokens": 8192},
                            {"capacity_tokens": 65536, "sp_degree": 8}]})") ==
      Messages{"/strategies/0/groups: expected one group for TRL's SFTTrainer, which has one pack length in "
               "a run, got 2"});
  CHECK(mistakes("deepspeed", R"({"strategy": "hbp", "groups": [{"capacity_tokens": 8192},
                                 {"capacity_tokens": 65536, "sp_degree": 8}]})") ==
        Messages{"/strategies/0/groups: expected groups of the same sp_degree and cp_degree for a loop on "
                 "DeepSpeed, which has one in a run, got several"});
  CHECK(mistakes("megatron-lm", R"({"strategy": "wlb", "capacity_tokens": 65536})") ==
        Messages{"/strategies/0/strategy: expected a strategy with as many micro-batches in each step for "
                 "Megatron-LM, which has one number of them in a run, got \"wlb\" (string)"});
  CHECK(
      mistakes("verl-fsdp", R"({"strategy": "isf", "capacity_tokens": 65536})") ==
      Messages{"/strategies/0/strategy: expected a strategy of its own for verl's SFT trainer on FSDP, which "
               "takes no plans, got \"isf\" (string)"});
  CHECK(mistakes("verl-fsdp", R"({"strategy": "verl_kk", "capacity_tokens": 65536})").empty());
}

TEST_CASE("Without a profile, a scenario has that of its trainer's stack, and executes steps as it does") {
  const TempFolder folder;
  folder.write("lengths.csv", "1000\n");
  std::string text =
      scenario_text(R"({"strategy": "isf", "capacity_tokens": 8192})", R"("trainer": "trl", )");
  const std::string profile = "\"profile\": \"deepspeed-ulysses-h100\",";
  text.erase(text.find(profile), profile.size());
  const Scenario scenario = load_scenario(folder.write("s.json", text), kData);
  CHECK(scenario.profile.name == "transformers-h100");
  CHECK(scenario.plan.execution.loss_reads == 2);  // --stack trl
  text.replace(text.find("\"lengths\""), 0, R"("parallelism": {"loss_reads": 0}, )");
  CHECK(load_scenario(folder.write("s.json", text), kData).plan.execution.loss_reads == 0);
}

TEST_CASE("A trainer's file says what is wrong with it") {
  const TempFolder folder;
  const std::string path = folder.write("t.json", R"({"format": 1, "name": "t", "source": "made up",
      "stack": "trl", "micro_batches": "rank", "own_strategies": ["nothing"], "ways": [
      {"name": "w", "zero_stage": [4], "checkpointing": ["full", "half"], "tp": "any"}]})");
  const Messages messages = messages_of([&] { load_trainer(path, kData); });
  REQUIRE(messages.size() == 5);
  for (const char* place :
       {"/micro_batches", "/own_strategies", "/ways/0/zero_stage", "/ways/0/checkpointing", "/ways/0/tp"}) {
    CAPTURE(place);
    CHECK(std::ranges::any_of(messages,
                              [&](const std::string& one) { return one.find(place) != std::string::npos; }));
  }
}

}  // namespace
}  // namespace packsim
