#include "reports/settings/trainer_settings.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "models/plan/plan_names.hpp"
#include "reports/formats/plan_search_json.hpp"
#include "reports/settings/settings_facts.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using Catch::Contains;
using packsim_test::kData;

namespace {

// 32 GPUs of 4 nodes, packs of 64 Ki tokens, four of them for each rank in a step.
TrainerJob job_of(const ParallelPlan& plan, const std::string& model = "llama3.1-8b") {
  StrategyResult run;
  run.name = "ffd";
  run.strategy = "ffd";
  run.plan = plan;
  run.groups = {{.capacity_tokens = 65536,
                 .sequence = plan.sequence,
                 .gc_layers = plan.gc_layers,
                 .zero_stage = plan.zero_stage,
                 .n_dp_ranks = plan.dp_degree(),
                 .micro_batches_per_rank = 4,
                 .packs = 1280,
                 .iterations = 10}};
  RunManifest manifest;
  manifest.epochs = 2;
  return trainer_job(manifest, run, load_model(model, kData), 4);
}

ParallelPlan plain_plan(int zero_stage) {
  ParallelPlan plan{.n_gpus = 32, .zero_stage = zero_stage};
  plan.execution.overlaps_states = true;
  return plan;
}

TrainerSettings settings_of(const std::string& trainer, const TrainerJob& job) {
  return settings_of_trainer(load_trainer(trainer, kData), job);
}

std::string text_of_file(const TrainerSettings& settings, const std::string& file) {
  const auto found = std::ranges::find(settings.files, file, &SettingsText::first);
  return found == settings.files.end() ? "" : found->second;
}

class RandomPlans {
 public:
  explicit RandomPlans(std::uint32_t seed) : generator_(seed) {}

  ParallelPlan plan(const Transformer& model) {
    ParallelPlan plan{.n_gpus = 32,
                      .tp_degree = mostly_one({2, 4, 8}),
                      .sequence = {.ulysses = mostly_one({2, 4, 8}), .ring = mostly_one({2, 4})},
                      .pp_degree = mostly_one({2, 4}),
                      .ep_degree = model.has_experts() ? mostly_one({2, 4, 8}) : 1,
                      .zero_stage = pick({0, 1, 2, 3})};
    if (plan.pp_degree > 1) plan.virtual_stages = mostly_one({2});
    if (pick({0, 0, 1}) == 1) plan.shard_degree = pick({8, 16});
    plan.gc_layers =
        pick({0, model.n_layers, model.n_layers, model.n_layers / 2, model.n_layers / 4 * 3, 11});
    if (pick({0, 0, 1}) == 1) plan.checkpointing = static_cast<Checkpointing>(pick({1, 2, 3}));
    if (plan.checkpointing == Checkpointing::modules)
      find_plan_key("checkpointing")->set(plan, std::vector<std::string>{"core_attn", "mlp"});
    for (const OffloadName& offload : kOffloadNames) plan.offload.*offload.state = pick({0, 0, 1}) == 1;
    plan.mlp_tiles = mostly_one({4});
    if (plan.sequence.ring > 1) plan.key_exchange = static_cast<KeyExchange>(pick({0, 0, 1, 2}));
    plan.execution.overlaps_states = true;
    plan.execution.fp32_gradients = pick({0, 1}) == 1;
    return plan;
  }

 private:
  int pick(const std::vector<int>& of) { return of[generator_() % of.size()]; }
  int mostly_one(std::vector<int> others) {
    others.insert(others.end(), others.size() + 1, 1);
    return pick(others);
  }

  std::mt19937 generator_;
};

// In what way a gradient travels is the trainer's, not the plan's that a search chooses.
std::set<std::string> unsaid_of(const TrainerSettings& settings) {
  std::set<std::string> unsaid(settings.unsaid.begin(), settings.unsaid.end());
  unsaid.erase("gradients in fp32");
  return unsaid;
}

// What tests/python/trainers/test_torch_settings.py reads, and compares with what it reads in the settings.
void write_case(const std::string& folder, const std::string& trainer, int number, const TrainerJob& job,
                const TrainerSettings& settings) {
  const std::string place = folder + "/" + trainer + "/" + std::to_string(number) + "/";
  std::filesystem::create_directories(place);
  for (const auto& [file, text] : settings.files) std::ofstream(place + file) << text;
  nlohmann::json truth = {{"plan", run_plan_json(job.run_plan, job.groups)},
                          {"way", settings.way},
                          {"n_gpus", job.plan.n_gpus},
                          {"n_layers", job.model.n_layers},
                          {"n_kv_heads", job.model.n_kv_heads},
                          {"has_experts", job.model.has_experts()},
                          {"micro_batches", *job.micro_batches_per_rank},
                          {"epochs", job.epochs}};
  std::ofstream(place + "truth.json") << truth.dump(2);
}

// As many random plans as each trainer can run, of dense models and of one with experts.
void check_random_plans(int n_plans, const char* folder) {
  constexpr int kMostTries = 200'000;
  const std::vector<Transformer> models = {load_model("llama3.1-8b", kData),
                                           load_model("qwen3-30b-a3b", kData)};
  const Cluster cluster = [] {
    Cluster h100 = load_cluster_type("h100-sxm-80gb", kData);
    h100.nodes = 4;
    return h100;
  }();
  std::uint32_t seed = 1;
  for (const std::string& name : names_of(kTrainerFiles, kData)) {
    const Trainer trainer = load_trainer(name, kData);
    RandomPlans random(seed++);
    int n_found = 0;
    for (int i = 0; i < kMostTries && n_found < n_plans; ++i) {
      const Transformer& model = models[static_cast<std::size_t>(i) % models.size()];
      const ParallelPlan plan = random.plan(model);
      if (way_of(trainer, model, plan) == nullptr || !plan_mistakes(model, cluster, plan).empty()) continue;
      TrainerJob job = job_of(plan, model.name);
      if (!trainer.takes_plans) job.strategy = trainer.own_strategies.front();
      const TrainerSettings settings = settings_of_trainer(trainer, job);
      CAPTURE(name, settings.way, settings.unsaid, run_plan_json(job.run_plan, job.groups).dump());
      CHECK(settings.refusals.empty());
      CHECK_FALSE(settings.files.empty());
      CHECK(unsaid_of(settings).empty());
      ++n_found;
      if (folder != nullptr) write_case(folder, name, n_found, job, settings);
    }
    CAPTURE(name);
    CHECK(n_found == n_plans);
  }
}

}  // namespace

TEST_CASE("Shipped settings files name facts that there are") {
  for (const std::string& name : names_of(kTrainerFiles, kData)) {
    const Trainer trainer = load_trainer(name, kData);
    for (const TrainerWay& way : trainer.ways) {
      CAPTURE(name, way.name);
      CHECK_FALSE(way.settings.empty());
      for (const SettingsFile& file : way.settings) {
        for (const SettingsLine& line : file.lines) {
          CAPTURE(file.file, line.key);
          CHECK((line.fact.empty() || is_fact(line.fact)));
          for (const auto& [fact, words] : line.when) CHECK(is_fact(fact));
          for (const auto& [fact, words] : line.unless) CHECK(is_fact(fact));
        }
        for (const auto& [fact, word] : file.implies) CHECK(is_fact(fact));
      }
    }
  }
}

TEST_CASE("Each trainer is told the whole of every plan that it can run") {
  check_random_plans(40, nullptr);
}

// PACKSIM_SETTINGS=FOLDER build/tests/test_reports "[.settings]" writes settings and what they have to say.
TEST_CASE("Settings of random plans are written for another reader", "[.settings]") {
  const char* const folder = std::getenv("PACKSIM_SETTINGS");
  REQUIRE(folder != nullptr);
  check_random_plans(20, folder);
}

TEST_CASE("DeepSpeed and Megatron-LM get batch, stage and precision") {
  const TrainerJob job = job_of(plain_plan(1));
  const TrainerSettings deepspeed = settings_of("deepspeed", job);
  const nlohmann::json json = nlohmann::json::parse(text_of_file(deepspeed, "deepspeed.json"));
  CHECK(json["train_micro_batch_size_per_gpu"] == 1);
  CHECK(json["gradient_accumulation_steps"] == 4);
  CHECK(json["zero_optimization"]["stage"] == 1);
  CHECK(json["bf16"]["enabled"] == true);
  CHECK(json["communication_data_type"] == "bf16");
  // 32 data-parallel ranks of 4 micro-batches.
  const std::string megatron = text_of_file(settings_of("megatron-lm", job), "megatron.sh");
  CHECK_THAT(megatron, Contains("--global-batch-size 128\n"));
  CHECK_THAT(megatron, Contains("--use-distributed-optimizer\n"));
  CHECK_THAT(text_of_file(settings_of("trl", job), "trl.yaml"), Contains("max_length: 65536\n"));
}

TEST_CASE("Megatron-LM's degrees: both ways of sharing a pack, a pipeline with chunks, experts") {
  ParallelPlan plan = plain_plan(1);
  plan.sequence = {.ulysses = 2, .ring = 4};
  const auto text = [&](const std::string& model = "llama3.1-8b") {
    return text_of_file(settings_of("megatron-lm", job_of(plan, model)), "megatron.sh");
  };
  CHECK_THAT(text(), Contains("--context-parallel-size 8\n  --cp-comm-type a2a+p2p\n"
                              "  --hierarchical-context-parallel-sizes 2 4\n"));
  plan.sequence = {};
  plan.pp_degree = 2;
  plan.virtual_stages = 4;
  CHECK_THAT(text(), Contains("--num-layers-per-virtual-pipeline-stage 4\n"));
  plan.virtual_stages = 1;
  plan.chunk_layers = {15, 17};
  CHECK_THAT(text(), Contains("--pipeline-model-parallel-layout 'Et*15|t*17L'\n"));
  plan = plain_plan(1);
  plan.tp_degree = 2;
  plan.ep_degree = 8;
  // Megatron splits experts like MLPs unless it is told.
  CHECK_THAT(text("qwen3-30b-a3b"), Contains("--expert-tensor-parallel-size 1\n"));
  plan.execution.splits_experts = true;
  CHECK_THAT(text("qwen3-30b-a3b"), Contains("--expert-tensor-parallel-size 2\n"));
  plan.ep_degree = 1;
  CHECK_THAT(text(), !Contains("expert-tensor"));
}

TEST_CASE("Trainers are told that keys and values are gathered, and the shards that then are left") {
  ParallelPlan plan = plain_plan(3);
  plan.sequence.ring = 4;
  const auto text = [&](const std::string& trainer, KeyExchange exchange, const std::string& file) {
    plan.key_exchange = exchange;
    return text_of_file(settings_of(trainer, job_of(plan)), file);
  };
  // 4 of the 32 GPUs share a document; 32 share the weights.
  CHECK_THAT(text("torchtitan", KeyExchange::all_gather, "torchtitan.sh"),
             Contains("--parallelism.context_parallel_degree 4") &&
                 Contains("--parallelism.context_parallel_load_balancer ptrr") &&
                 Contains("--parallelism.data_parallel_shard_degree 8"));
  CHECK_THAT(text("axolotl", KeyExchange::all_gather_packs, "axolotl.yaml"),
             Contains("context_parallel_size: 4") && Contains("ring_attn_func: varlen_llama3") &&
                 Contains("dp_shard_size: 8"));
  plan.zero_stage = 1;
  CHECK_THAT(text("megatron-lm", KeyExchange::all_gather, "megatron.sh"),
             Contains("--context-parallel-size 4") && Contains("--cp-comm-type all_gather"));
  CHECK_THAT(text("megatron-lm", KeyExchange::ring, "megatron.sh"), Contains("--cp-comm-type p2p"));
}

TEST_CASE("Settings that a trainer refuses together are not written together") {
  ParallelPlan plan = plain_plan(3);
  plan.shard_degree = 8;
  plan.gc_layers = 32;
  const TrainerSettings deepspeed = settings_of("trl", job_of(plan));
  // Shards of 8 with 4 replicas are FSDP2's. transformers raises where both files say checkpointing.
  const std::string accelerate = text_of_file(deepspeed, "accelerate.yaml");
  CHECK_THAT(accelerate, Contains("dp_replicate_size: 4\n"));
  CHECK_THAT(accelerate, Contains("dp_shard_size: 8\n"));
  CHECK_THAT(accelerate, Contains("fsdp_reshard_after_forward: true\n"));
  CHECK_THAT(accelerate, Contains("fsdp_activation_checkpointing: true\n"));
  CHECK_THAT(text_of_file(deepspeed, "trl.yaml"), !Contains("activation_checkpointing"));
  // Every second layer is an argument of training alone.
  plan.gc_layers = 16;
  // Gradients are reduced to shards after each micro-batch, as the plan counts them.
  CHECK_THAT(text_of_file(deepspeed, "trl.yaml"), Contains("    sync_each_batch: true\n"));
  const TrainerSettings half = settings_of("trl", job_of(plan));
  CHECK_THAT(text_of_file(half, "accelerate.yaml"), !Contains("activation_checkpointing"));
  CHECK_THAT(
      text_of_file(half, "trl.yaml"),
      Contains("activation_checkpointing: true\nactivation_checkpointing_kwargs:\n  every_n_layers: 2\n"));
  // Megatron asserts gradients that are reduced beside the backward pass.
  ParallelPlan gathers = plain_plan(1);
  gathers.execution.overlaps_gather = true;
  CHECK_THAT(text_of_file(settings_of("megatron-lm", job_of(gathers)), "megatron.sh"),
             Contains("--overlap-param-gather\n"));
  gathers.execution.overlaps_states = false;
  const TrainerSettings waiting = settings_of("megatron-lm", job_of(gathers));
  CHECK_THAT(text_of_file(waiting, "megatron.sh"), !Contains("--overlap-param-gather"));
  CHECK(waiting.unsaid == std::vector<std::string>{"updated weights are gathered in the next step"});
}

TEST_CASE("A trainer that cannot run the plan gets no settings, and says why") {
  ParallelPlan plan = plain_plan(1);
  plan.sequence = {.ulysses = 1, .ring = 4};
  const TrainerSettings ring = settings_of("trl", job_of(plan));
  CHECK(ring.files.empty());
  REQUIRE(ring.refusals.size() == 1);
  CHECK_THAT(ring.refusals[0], Contains("cp_degree: expected 1 for TRL's SFTTrainer (DeepSpeed), got 4"));

  TrainerJob groups = job_of(plain_plan(1));
  groups.groups.push_back(groups.groups.front());
  groups.groups.back().sequence = {.ulysses = 8};
  CHECK(settings_of("trl", groups).refusals ==
        std::vector<std::string>{"expected one pack length, got 2",
                                 "expected the same degrees and checkpointed layers for all packs"});
  CHECK(settings_of("hbp", groups).refusals.empty());
  CHECK_THAT(text_of_file(settings_of("hbp", groups), "plan.json"), Contains("\"sp_degree\": 8"));

  TrainerJob differing = job_of(plain_plan(1));
  differing.micro_batches_per_rank.reset();
  CHECK(settings_of("megatron-lm", differing).refusals ==
        std::vector<std::string>{"expected the same number of micro-batches in all steps"});
  // TRL takes them from the schedule, so none is written.
  CHECK_THAT(text_of_file(settings_of("trl", differing), "trl.yaml"), !Contains("accumulation"));
  CHECK(settings_of("trl", differing).unsaid.empty());
  CHECK_THAT(settings_of("verl-fsdp", job_of(plain_plan(2))).refusals.at(0), Contains("takes no plans"));

  StrategyResult empty;
  empty.name = "ffd";
  CHECK_THROWS_WITH(trainer_job(RunManifest{}, empty, Transformer{}, 1),
                    Contains("groups of packs, got ffd"));
}

TEST_CASE("Packs that several GPUs share are fed as rows, one after another and whole") {
  ParallelPlan plan = plain_plan(3);
  plan.sequence = {.ulysses = 8};
  const TrainerJob job = job_of(plan);
  CHECK_THAT(text_of_file(settings_of("trl", job), "trl.yaml"),
             Contains("max_length: null\npadding_free: true\ntrain_sampling_strategy: sequential\n"));
  Scenario scenario;
  scenario.model = load_model("llama3.1-8b", kData);
  scenario.trainer = std::make_shared<Trainer>(load_trainer("trl", kData));
  // 32 GPUs, 8 for each pack.
  CHECK_THAT(all_settings(scenario, job, kData).back().second,
             Contains("8 GPUs train each pack") && Contains("world_size=4"));
  TrainerJob differing = job;
  differing.micro_batches_per_rank.reset();
  CHECK_THAT(all_settings(scenario, differing, kData).back().second, Contains("Its steps differ"));
}

TEST_CASE("A strategy of the trainer's own is its packing, without a schedule") {
  TrainerJob job = job_of(plain_plan(1));
  job.strategy = "trl_bfd";
  const std::string text = text_of_file(settings_of("trl", job), "trl.yaml");
  CHECK_THAT(text, Contains("packing: true\npacking_strategy: bfd\n"));
  CHECK_THAT(
      text_of_file(settings_of("axolotl", job), "axolotl.yaml"),
      Contains("plugins: [\"packsim.trainers.axolotl.PacksimPlugin\"]\npacksim_plan: schedule.plan\n"));
  job.strategy = "axolotl_multipack";
  CHECK_THAT(text_of_file(settings_of("axolotl", job), "axolotl.yaml"),
             Contains("sample_packing: true\n") && !Contains("plugins"));
}

TEST_CASE("A scenario's trainer has its files alone; without one, each that can run the plan has a folder") {
  const TrainerJob job = job_of(plain_plan(3));
  Scenario scenario;
  scenario.model = load_model("llama3.1-8b", kData);
  std::map<std::string, std::string> files;
  for (auto& [file, text] : all_settings(scenario, job, kData)) files[file] = text;
  CHECK(files.contains("trl/deepspeed.json"));
  CHECK(files.contains("any/plan.json"));
  CHECK_FALSE(files.contains("unsloth/trl.yaml"));
  CHECK_THAT(files["README.md"], Contains("| Unsloth | zero_stage: expected 0 for Unsloth (DDP), got 3 |"));
  CHECK_THAT(files["README.md"],
             Contains("| TRL's SFTTrainer | trl/accelerate.yaml, trl/deepspeed.json, trl/trl.yaml "
                      "(DeepSpeed) |"));
  scenario.trainer = std::make_shared<Trainer>(load_trainer("trl", kData));
  files.clear();
  for (auto& [file, text] : all_settings(scenario, job, kData)) files[file] = text;
  CHECK(files.size() == 4);
  CHECK_THAT(files["README.md"], Contains("For TRL's SFTTrainer (DeepSpeed)"));
  CHECK_THAT(files["README.md"], Contains("../schedule.plan"));
}
