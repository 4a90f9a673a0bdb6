#include "reports/settings/trainer_settings.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

using namespace packsim;
using Catch::Contains;

namespace {

constexpr int kLayers = 32;

// 32 GPUs of 4 nodes, packs of 64 Ki tokens, ZeRO 1.
StrategyResult plain_run() {
  StrategyResult run;
  run.name = "ffd";
  run.plan = {.n_gpus = 32, .zero_stage = 1};
  run.groups = {{.capacity_tokens = 65536,
                 .sequence = {},
                 .gc_layers = 0,
                 .zero_stage = 1,
                 .n_dp_ranks = 32,
                 .micro_batches_per_rank = 4,
                 .packs = 1280,
                 .iterations = 10}};
  return run;
}

RunManifest manifest() {
  RunManifest manifest;
  manifest.model = "llama3.1-8b";
  manifest.n_gpus = 32;
  manifest.epochs = 2;
  manifest.tokens_per_iteration = 32 * 4 * 65536;
  return manifest;
}

TrainerJob job_of(const StrategyResult& run, int n_experts = 0) {
  Transformer model;
  model.n_layers = kLayers;
  model.experts.n_routed = n_experts;
  return trainer_job(manifest(), run, model, 4);
}

const TrainerFormat& format_of(std::string_view file) {
  return *std::ranges::find(trainer_formats(), file, &TrainerFormat::file);
}

nlohmann::json deepspeed(const StrategyResult& run) {
  return nlohmann::json::parse(format_of("deepspeed.json").settings(job_of(run)));
}

// Everything that the user is told: settings, what they cannot say, and what holds for all.
std::string all_that_is_said(const TrainerFormat& format, const StrategyResult& run) {
  const TrainerJob job = job_of(run);
  std::string text = format.settings(job);
  for (const std::string& sentence : format.unsaid(job)) text += sentence;
  for (const std::string& remark : job.remarks) text += remark;
  return text;
}

}  // namespace

TEST_CASE("A plain plan is said in full by DeepSpeed, and each trainer gets its batch") {
  const StrategyResult run = plain_run();
  const nlohmann::json json = deepspeed(run);
  CHECK(json["train_micro_batch_size_per_gpu"] == 1);
  CHECK(json["gradient_accumulation_steps"] == 4);
  CHECK(json["zero_optimization"]["stage"] == 1);
  CHECK(json["bf16"]["enabled"] == true);
  CHECK(json["communication_data_type"] == "bf16");
  CHECK(format_of("deepspeed.json").unsaid(job_of(run)) ==
        std::vector<std::string>{"Packs of up to 65536 tokens are the data loader's."});
  CHECK(job_of(run).remarks.empty());
  // 32 data-parallel ranks of 4 micro-batches.
  CHECK_THAT(format_of("megatron.sh").settings(job_of(run)), Contains("--global-batch-size 128\n"));
  CHECK_THAT(format_of("megatron.sh").settings(job_of(run)), Contains("--nnodes 4 --nproc-per-node 8"));
  CHECK_THAT(format_of("trl.yaml").settings(job_of(run)), Contains("max_length: 65536\n"));
  CHECK_THAT(format_of("axolotl.yaml").settings(job_of(run)), Contains("gradient_accumulation_steps: 4\n"));
  CHECK_THAT(settings_readme(job_of(run)),
             Contains("## What megatron.sh cannot say\n\n- Packs are the data's"));
}

TEST_CASE("Nothing of a plan is lost: it is in the settings, or said not to be") {
  using Change = std::function<void(StrategyResult&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"tensor parallelism", [](StrategyResult& run) { run.plan.tp_degree = 2; }},
      {"a pipeline", [](StrategyResult& run) { run.plan.pp_degree = 4; }},
      {"expert parallelism", [](StrategyResult& run) { run.plan.ep_degree = 8; }},
      {"Ulysses", [](StrategyResult& run) { run.groups[0].sequence = {.ulysses = 4}; }},
      {"ring attention", [](StrategyResult& run) { run.groups[0].sequence = {.ulysses = 1, .ring = 4}; }},
      {"both", [](StrategyResult& run) { run.groups[0].sequence = {.ulysses = 2, .ring = 4}; }},
      {"ZeRO 0", [](StrategyResult& run) { run.groups[0].zero_stage = 0; }},
      {"ZeRO 2", [](StrategyResult& run) { run.groups[0].zero_stage = 2; }},
      {"ZeRO 3", [](StrategyResult& run) { run.groups[0].zero_stage = 3; }},
      {"some layers checkpointed", [](StrategyResult& run) { run.groups[0].gc_layers = 20; }},
      {"all layers checkpointed", [](StrategyResult& run) { run.groups[0].gc_layers = 32; }},
      {"shorter packs", [](StrategyResult& run) { run.groups[0].capacity_tokens = 4096; }},
      {"more micro-batches", [](StrategyResult& run) { run.groups[0].micro_batches_per_rank = 5; }},
      {"iterations that differ", [](StrategyResult& run) { run.groups[0].micro_batches_per_rank.reset(); }},
      {"LoRA", [](StrategyResult& run) { run.plan.lora_rank = 16; }},
      {"fp8", [](StrategyResult& run) { run.plan.precision = Precision::fp8_block; }},
      {"tiles", [](StrategyResult& run) { run.plan.mlp_tiles = 4; }},
      {"shards within nodes", [](StrategyResult& run) { run.plan.shard_degree = 8; }},
      {"an offloaded optimizer", [](StrategyResult& run) { run.plan.offload.optimizer = true; }},
      {"offloaded weights", [](StrategyResult& run) { run.plan.offload.weights = true; }},
      {"gradients in fp32", [](StrategyResult& run) { run.plan.execution.fp32_gradients = true; }},
      {"communication that waits", [](StrategyResult& run) { run.plan.execution.overlaps_states = false; }},
      {"gathers beside the next pass",
       [](StrategyResult& run) { run.plan.execution.overlaps_gather = true; }},
      {"parts of layers checkpointed",
       [](StrategyResult& run) {
         run.groups[0].gc_layers = 32;
         run.plan.checkpointing = Checkpointing::selective;
       }},
      {"offloaded activations", [](StrategyResult& run) { run.plan.offload.activations = true; }},
      {"a second group", [](StrategyResult& run) {
         run.groups.push_back(run.groups[0]);
         run.groups[1].capacity_tokens = 8192;
         run.groups[1].gc_layers = 3;
       }}};
  for (const auto& [name, change] : changes) {
    StrategyResult run = plain_run();
    change(run);
    // The settings of shards, gradients and offloading are in the file that TRL and axolotl name.
    for (const TrainerFormat& format : trainer_formats()) {
      CAPTURE(name, format.file);
      if (format_of("deepspeed.json").settings(job_of(run)) !=
              format_of("deepspeed.json").settings(job_of(plain_run())) &&
          format.settings(job_of(run)).find("deepspeed: deepspeed.json") != std::string::npos)
        continue;
      CHECK(all_that_is_said(format, run) != all_that_is_said(format, plain_run()));
    }
  }
}

TEST_CASE("Megatron is told how it splits experts, which it does like MLPs where it is not") {
  StrategyResult run = plain_run();
  run.plan.tp_degree = 2;
  run.plan.ep_degree = 8;
  const auto settings = [&] { return format_of("megatron.sh").settings(job_of(run, 8)); };
  CHECK_THAT(settings(), Contains("--expert-tensor-parallel-size 1\n"));
  run.plan.execution.splits_experts = true;
  CHECK_THAT(settings(), Contains("--expert-tensor-parallel-size 2\n"));
  CHECK_THAT(format_of("megatron.sh").settings(job_of(run)), !Contains("expert-tensor"));
}

TEST_CASE("Groups of packs: the settings are of the longest packs, and say so") {
  StrategyResult run = plain_run();
  run.groups.insert(run.groups.begin(), run.groups[0]);
  run.groups[0].capacity_tokens = 8192;
  run.groups[0].sequence = {.ulysses = 1};
  run.groups[1].sequence = {.ulysses = 8};
  run.groups[1].n_dp_ranks = 4;
  run.groups[1].gc_layers = 20;
  const TrainerJob job = job_of(run);
  CHECK(job.capacity_tokens == 65536);
  CHECK(job.plan.sequence.ulysses == 8);
  REQUIRE(job.remarks.size() == 2);
  CHECK_THAT(job.remarks[0], Contains("2 groups of packs"));
  CHECK_THAT(format_of("deepspeed.json").unsaid(job).at(1), Contains("parallelism_config_sp_size: 8"));
  // 4 data-parallel ranks of 8 GPUs; the job's 8 Mi tokens are 32 packs of 64 Ki for each.
  CHECK_THAT(format_of("megatron.sh").settings(job), Contains("--context-parallel-size 8\n"));
  CHECK_THAT(format_of("megatron.sh").settings(job), Contains("--global-batch-size 128\n"));
  CHECK(job.micro_batches_per_rank == 32);
  CHECK_THAT(format_of("megatron.sh").settings(job), Contains("--recompute-num-layers 20\n"));
  CHECK_THAT(format_of("fsdp2.yaml").unsaid(job).at(1), Contains("20 of 32 layers"));
}

TEST_CASE("Where iterations differ, a step has the job's tokens in full packs, rounded up") {
  StrategyResult run = plain_run();
  run.groups[0].micro_batches_per_rank.reset();
  CHECK(job_of(run).micro_batches_per_rank == 4);
  CHECK_THAT(job_of(run).remarks.at(0), Contains("an iteration of 8,388,608 tokens needs, rounded up"));
  run.groups[0].capacity_tokens = 60000;  // 4.4 packs for each of 32 ranks
  CHECK(job_of(run).micro_batches_per_rank == 5);
  run.groups.clear();
  CHECK_THROWS_WITH(job_of(run), Contains("groups of packs, got ffd"));
}

TEST_CASE("ZeRO 3 within nodes is FSDP2's shards of 8 with 4 replicas") {
  StrategyResult run = plain_run();
  run.plan.shard_degree = 8;
  run.groups[0].zero_stage = 3;
  const std::string yaml = format_of("fsdp2.yaml").settings(job_of(run));
  CHECK_THAT(yaml, Contains("dp_replicate_size: 4\n"));
  CHECK_THAT(yaml, Contains("dp_shard_size: 8\n"));
  CHECK_THAT(yaml, Contains("fsdp_reshard_after_forward: true\n"));
  // Beside the packs, that accumulated gradients are whole.
  REQUIRE(format_of("fsdp2.yaml").unsaid(job_of(run)).size() == 2);
  CHECK_THAT(format_of("fsdp2.yaml").unsaid(job_of(run))[1], Contains("keeps whole gradients"));
  CHECK_THAT(format_of("megatron.sh").settings(job_of(run)), Contains("optim_grads_params"));
}

TEST_CASE("Settings that a trainer refuses together are not written together") {
  StrategyResult run = plain_run();
  run.groups[0].zero_stage = 3;
  run.groups[0].gc_layers = 32;
  // transformers raises where both say it.
  CHECK_THAT(format_of("fsdp2.yaml").settings(job_of(run)), Contains("fsdp_activation_checkpointing: true"));
  CHECK_THAT(format_of("trl.yaml").settings(job_of(run)), Contains("gradient_checkpointing: false"));
  // Accelerate's sizes multiply to the number of processes, also where packs are over several GPUs.
  run.groups[0].sequence = {.ulysses = 8};
  run.plan.shard_degree = 8;
  const std::string yaml = format_of("fsdp2.yaml").settings(job_of(run));
  CHECK_THAT(yaml, Contains("dp_replicate_size: 4\n"));
  CHECK_THAT(yaml, Contains("dp_shard_size: 8\n"));
  CHECK_THAT(yaml, !Contains("cp_size"));
  // Megatron asserts gradients that are reduced beside the backward pass.
  run.groups[0].zero_stage = 1;
  run.plan.execution.overlaps_gather = true;
  run.plan.execution.overlaps_states = false;
  CHECK_THAT(format_of("megatron.sh").settings(job_of(run)), !Contains("--overlap-param-gather"));
  run.plan.execution.overlaps_states = true;
  CHECK_THAT(format_of("megatron.sh").settings(job_of(run)), Contains("--overlap-param-gather"));
  CHECK_THAT(format_of("megatron.sh").settings(job_of(run)),
             Contains("--num-distributed-optimizer-instances 4\n"));
}
