#include <array>

#include "models/plan/plan_fields.hpp"
#include "models/plan/plan_key.hpp"
#include "models/plan/plan_names.hpp"
#include "models/state_traffic.hpp"
#include "packing/options/limits.hpp"

namespace packsim {
namespace {

using namespace plan_detail;

constexpr int kMostStages = 4096;
constexpr int kMostTiles = 65'536;
constexpr int kMostLoraRank = 65'536;
constexpr int kMostLossReads = 2;
constexpr std::int64_t kMostBucketElements = 1'000'000'000'000;
constexpr std::string_view kOfProfile = "the framework profile's, or false";

// The accesses that a row needs, by the kind of its field.
template <typename Field>
PlanKey with_field(PlanKey key) {
  key.get = &Field::get;
  key.set = &Field::set;
  return key;
}

template <auto... kMembers>
PlanKey integer_key(std::string_view name, std::int64_t least, std::int64_t most, std::string_view text,
                    PlanKey key) {
  key.option = {.name = name, .text = text, .least = least, .most = most};
  return with_field<ValueField<kMembers...>>(key);
}

template <auto... kMembers>
PlanKey degree_key(std::string_view name, std::string_view text, PlanKey key) {
  key.is_degree = true;
  return integer_key<kMembers...>(name, 1, kMostGpus, text, key);
}

template <auto... kMembers>
PlanKey number_key(std::string_view name, std::int64_t least, std::int64_t most, std::string_view text,
                   PlanKey key) {
  key.option = {.name = name, .text = text, .type = OptionType::number, .least = least, .most = most};
  return with_field<ValueField<kMembers...>>(key);
}

template <auto... kMembers>
PlanKey flag_key(std::string_view name, std::string_view text, PlanKey key) {
  key.option = {.name = name, .text = text, .type = OptionType::boolean};
  return with_field<ValueField<kMembers...>>(key);
}

template <typename Field>
PlanKey word_key(std::string_view name, std::vector<std::string_view> (*words)(), std::string_view text,
                 PlanKey key) {
  key.option = {.name = name, .text = text, .type = OptionType::word, .words = words};
  key.is_list = key.list_words != nullptr;
  return with_field<Field>(key);
}

template <const auto& kRows, auto... kMembers>
PlanKey named_key(std::string_view name, std::string_view text, PlanKey key) {
  return word_key<NamedField<kRows, kMembers...>>(name, names_of<kRows>, text, key);
}

const std::vector<PlanKey>& all_keys() {
  static const std::vector<PlanKey> kKeys = {
      integer_key<&ParallelPlan::n_gpus>("n_gpus", 1, kMostGpus, "Number of GPUs.",
                                         {.part = PlanPart::cluster}),
      degree_key<&ParallelPlan::sequence, &SequenceParallelism::ulysses>(
          "sp_degree", "Number of GPUs that share a pack by Ulysses.",
          {.part = PlanPart::group, .is_searched = true, .said = "SP {}"}),
      degree_key<&ParallelPlan::sequence, &SequenceParallelism::ring>(
          "cp_degree", "Number of GPUs that share a pack by ring attention.",
          {.part = PlanPart::group, .is_searched = true, .said = "CP {}"}),
      integer_key<&ParallelPlan::gc_layers>(
          "gc_layers", 0, kMostLayers,
          "Number of checkpointed layers, or `auto` for the fewest that fit. All chunks of a pipeline "
          "checkpoint the same number of layers, so reports may count more than you gave.",
          {.part = PlanPart::group,
           .is_degree = true,
           .is_searched = true,
           .said = "GC {}",
           .default_text = "`auto`"}),
      degree_key<&ParallelPlan::tp_degree>(
          "tp_degree", "Tensor-parallel GPUs, with the sequence sharded between the blocks.",
          {.is_searched = true, .said = "TP {}"}),
      integer_key<&ParallelPlan::pp_degree>("pp_degree", 1, kMostStages, "Pipeline stages.",
                                            {.is_degree = true, .is_searched = true, .said = "PP {}"}),
      integer_key<&ParallelPlan::virtual_stages>("virtual_stages", 1, kMostStages,
                                                 "Chunks of layers that a pipeline stage holds.",
                                                 {.is_searched = true, .said = "{} virtual stages each"}),
      word_key<ScheduleField>(
          "pipeline_schedule", ScheduleField::words,
          "The order of a stage's passes: `1f1b` (one chunk for each stage), `interleaved` (several "
          "chunks), or `gpipe` (one chunk; all forward passes run before the first backward pass, so every "
          "stage holds the activations of all micro-batches). `auto` is `1f1b` if `virtual_stages` is 1, "
          "else `interleaved`.",
          {.said = "scheduled by {}"}),
      integer_key<&ParallelPlan::chunk_layers>(
          "chunk_layers", 0, kMostLayers,
          "Number of layers in each of the pp_degree x virtual_stages chunks, in the order in which a "
          "micro-batch passes them; the first and the last may have none.",
          {.is_list = true, .said = "chunks of {} layers", .default_text = "all equal"}),
      degree_key<&ParallelPlan::ep_degree>("ep_degree", "GPUs over which the routed experts are spread.",
                                           {.is_searched = true, .said = "EP {}"}),
      named_key<kExpertDispatchNames, &ParallelPlan::expert_dispatch>(
          "expert_dispatch",
          "How tokens get to their experts: `all_to_all` (NCCL sends a token once for each of its experts) "
          "or `deduplicated` (once to each GPU or, over the network, each node that has any of them, as "
          "DeepEP does).",
          {.said = "{} dispatch"}),
      flag_key<&ParallelPlan::execution, &ExecutionStyle::splits_experts>(
          "splits_experts",
          "Whether tensor parallelism splits each routed expert too, as Megatron-Core does unless its "
          "`expert_tensor_parallel_size` is 1. Otherwise experts are whole.",
          {.profile = SaidByProfile::may, .said = "experts split by TP", .default_text = kOfProfile}),
      named_key<kExpertStyles, &ParallelPlan::execution, &ExecutionStyle::experts>(
          "experts",
          "How the routed experts of a GPU are computed: `grouped` (one product for all: transformers from "
          "5.0 on, torchtitan), `loop` (one by one in Python, where the host reads who has which tokens: "
          "transformers before 5.0), or `separate` (a product each, and nothing beside them that is known).",
          {.profile = SaidByProfile::may,
           .said = "experts: {}",
           .default_text = "the framework profile's, or `separate`"}),
      number_key<&ParallelPlan::expert_imbalance>(
          "expert_imbalance", 1, kMostGpus,
          "Tokens sent to the GPU whose experts get most, over the mean of the `ep_degree` GPUs. All GPUs "
          "wait for this one, and its memory has to suffice.",
          {.said = "the GPU whose experts get most tokens has {} times the mean",
           .default_text = "1: balanced"}),
      integer_key<&ParallelPlan::zero_stage>(
          "zero_stage", 0, kLastZeroStage,
          "ZeRO stage, 0 to 3: what is sharded, and what is communicated when ([model.md](model.md#steps)). "
          "With a pipeline, stages 2 and 3 send as much as stage 1 does, and hold as much during the "
          "passes. It may be said here or in `training`, and in both only if they agree.",
          {.part = PlanPart::training,
           .is_searched = true,
           .said = "ZeRO {}",
           .said_at_default = "ZeRO {}",
           .default_text = "that of `training`"}),
      integer_key<&ParallelPlan::shard_degree>(
          "shard_degree", 0, kMostGpus,
          "Hybrid sharding (HSDP): number of GPUs that share one set of ZeRO's shards, those of a sequence "
          "group included; the other GPUs with the same weights hold replicas. It divides n_gpus / "
          "(tp_degree x pp_degree), and ep_degree divides it. In torchtitan's words it is "
          "`data_parallel_shard_degree` x `context_parallel_degree`; Megatron has n_gpus / (tp_degree x "
          "pp_degree) / `num_distributed_optimizer_instances` such GPUs.",
          {.is_searched = true,
           .said = "shards over {} GPUs",
           .default_text = "0: all GPUs that hold the same weights"}),
      named_key<kRingLayoutNames, &ParallelPlan::ring_layout>(
          "ring_layout",
          "`contiguous` or `zigzag`: how ring attention (`cp_degree` of a group) cuts documents.",
          {.said = "{} ring attention"}),
      named_key<kKeyExchangeNames, &ParallelPlan::key_exchange>(
          "cp_exchange",
          "How the `cp_degree` GPUs of a group get each other's keys and values: `ring` (step by step beside "
          "attention), `all_gather` (all of them before attention, as Megatron's `--cp-comm-type all_gather` "
          "and torchtitan; `ring_layout` says how documents are cut), or `all_gather_packs` (the same, with "
          "an equal chunk of the pack on each GPU, as axolotl's `varlen_llama3`).",
          {.is_searched = true, .said = "keys and values by {} instead of a ring"}),
      word_key<CheckpointingField>(
          "checkpointing", names_of<kCheckpointingNames>,
          "What a checkpointed layer recomputes: everything (`full`); the inside of attention "
          "(`selective`); all but the outputs of attention and of every second matrix product "
          "(`operations`, as torchtitan's selective checkpointing by operation); or a list of Megatron's "
          "modules (`--recompute-modules`): `core_attn`, `layernorm`, `mla_up_proj`, `mlp`, `moe`, "
          "`moe_act`.",
          {.is_searched = true,
           .list_words = names_of<kLayerModules>,
           .may_be_empty = false,
           .said = "checkpointing: {}"}),
      word_key<OffloadField>(
          "offload", OffloadField::words,
          "What is kept in host memory: `none`, one of the following names, or an array of these. "
          "`optimizer`: fp32 weights and moments, and AdamW runs on the host (ZeRO 1 to 3); `weights`: the "
          "bf16 shards, copied to the GPU before each gather (ZeRO 3, beside `optimizer`); `gradients`: the "
          "shards, copied to the host after each reduction and added up there (ZeRO 2 and 3, beside "
          "`optimizer`); `activations`: the inputs of layers that are checkpointed in full. All of it must "
          "fit into `host_memory_bytes`.",
          {.is_searched = true, .list_words = names_of<kOffloadNames>, .said = "{} in host memory"}),
      integer_key<&ParallelPlan::lora_rank>("lora_rank", 0, kMostLoraRank,
                                            "Rank of the adapters; 0: full fine-tuning.",
                                            {.said = "LoRA of rank {}"}),
      word_key<LoraTargetsField>(
          "lora_target_modules", LoraTargetsField::words,
          "Which matrices of layers have adapters, by PEFT's names: `q_proj`, `k_proj`, `v_proj`, `o_proj`, "
          "`gate_proj`, `up_proj`, `down_proj`, those of latent attention `q_a_proj`, `q_b_proj`, "
          "`kv_a_proj_with_mqa`, `kv_b_proj`, of fused projections (Phi-3) `qkv_proj`, `gate_up_proj`; or "
          "`all-linear`, which includes routers.",
          {.list_words = names_of<kLoraTargets>, .may_be_empty = false, .said = "adapters beside {}"}),
      named_key<kFrozenFormats, &ParallelPlan::frozen_weights>(
          "frozen_weights",
          "How LoRA's frozen matrices of layers are kept: `bf16`, `nf4` (QLoRA): 4 bits a value and "
          "quantised scales for blocks of 64, together 0.516 bytes a value, or `gptq` or `awq`: 4 bits in "
          "groups of 128. Every pass turns them into bf16.",
          {.said = "frozen weights in {}"}),
      named_key<kPrecisions, &ParallelPlan::precision>(
          "precision",
          "Number format of the matrix products of layers: `bf16`; `fp8_delayed` and `fp8_current`, with "
          "one scale for each tensor, from earlier steps or from its own values; `fp8_block`, with scales "
          "for blocks of 1 x 128 and 128 x 128 values, as DeepSeek-V3 has them; `mxfp8` and `nvfp4`, whose "
          "blocks of 32 and 16 values Blackwell's tensor cores scale. The GPU's file has to state a peak of "
          "the format. Activations stay in bf16.",
          {.is_searched = true, .said = "products in {}"}),
      named_key<kOptimizerKinds, &ParallelPlan::execution, &ExecutionStyle::optimizer>(
          "optimizer",
          "What updates the weights, and in which formats weights, gradients and states are: `adamw` (fp32 "
          "master weights and moments beside bf16 weights: 16 bytes a parameter), `adamw_bf16` (8), "
          "`adamw_fp32` (16; products in bf16 under autocast, or by FSDP's mixed precision), `adamw_8bit` "
          "(6), `paged_adamw_8bit` and "
          "`paged_adamw` (moments in the host's memory), `adafactor` (4), `lion` or `muon` (6). fp32 "
          "gradients "
          "take 2 more.",
          {.profile = SaidByProfile::may,
           .said = "optimizer {}",
           .default_text = "the framework profile's, or `adamw`"}),
      flag_key<&ParallelPlan::optimizer_in_backward>(
          "optimizer_in_backward",
          "Whether each layer is updated in its backward pass, so that the gradients of one layer exist at a "
          "time. A step then has one micro-batch, and ZeRO is not used.",
          {.said = "optimizer in the backward pass"}),
      flag_key<&ParallelPlan::fp8_gather>(
          "fp8_gather",
          "Whether weights of layers are gathered in fp8 (FSDP2's float8 all-gather); only with an fp8 "
          "precision and ZeRO 3.",
          {.said = "weights gathered in fp8"}),
      flag_key<&ParallelPlan::latent_exchange>(
          "latent_exchange",
          "Whether Ulysses sends latents instead of heads; only for models with latent attention.",
          {.said = "latents exchanged"}),
      flag_key<&ParallelPlan::uneven_heads>(
          "uneven_heads",
          "Whether `sp_degree` need not divide the heads. It is at most their number, and its other limits "
          "stay. Frameworks then spread the heads unevenly or pad them; the GPU with most of them decides "
          "time and memory.",
          {.said = "uneven heads", .default_text = "false: `sp_degree` must divide the heads"}),
      integer_key<&ParallelPlan::mlp_tiles>(
          "mlp_tiles", 1, kMostTiles,
          "Parts of a GPU's tokens that the MLP of a layer without experts takes one after another, as ALST "
          "does for samples of millions of tokens. The memory of the MLP's tensors is that of one part; the "
          "MLP runs once more in the backward pass.",
          {.is_searched = true, .said = "MLP in {} tiles"}),
      integer_key<&ParallelPlan::loss_tiles>("loss_tiles", 1, kMostTiles,
                                             "Parts of a GPU's tokens that the loss takes one after "
                                             "another. The memory of the logits is that of one part.",
                                             {.is_searched = true, .said = "loss in {} tiles"}),
      flag_key<&ParallelPlan::execution, &ExecutionStyle::fp32_gradients>(
          "fp32_gradients", "Whether gradients are summed and sent in fp32 instead of bf16.",
          {.profile = SaidByProfile::always,
           .said = "gradients in fp32",
           .said_at_default = "gradients in bf16",
           .default_text = "the framework profile's"}),
      flag_key<&ParallelPlan::execution, &ExecutionStyle::overlaps_states>(
          "overlaps_states", "Whether weights and gradients are sent beside computation.",
          {.profile = SaidByProfile::always,
           .said = "computation waits for gradients and weights",
           .said_at_default = "gradients and weights travel beside computation",
           .default_text = "the framework profile's"}),
      flag_key<&ParallelPlan::execution, &ExecutionStyle::overlaps_gather>(
          "overlaps_gather",
          "ZeRO 1 and 2: whether updated weights are gathered beside the next step's first forward pass "
          "instead of after the optimizer.",
          {.profile = SaidByProfile::may,
           .said = "updated weights are gathered in the next step",
           .default_text = kOfProfile}),
      flag_key<&ParallelPlan::execution, &ExecutionStyle::overlaps_tensor>(
          "overlaps_tensor",
          "Whether tensor-parallel all-gathers and reduce-scatters run beside the matrix products next to "
          "them.",
          {.profile = SaidByProfile::may,
           .said = "tensor-parallel exchange runs beside products",
           .default_text = kOfProfile}),
      flag_key<&ParallelPlan::execution, &ExecutionStyle::recompute_stops_early>(
          "recompute_stops_early",
          "Whether recomputation ends at the last tensor that the backward pass needs.",
          {.profile = SaidByProfile::always,
           .said = "recomputation stops early",
           .default_text = "the framework profile's"}),
      flag_key<&ParallelPlan::execution, &ExecutionStyle::plain_gradients>(
          "plain_gradients",
          "Whether gradients are torch's own, with no buffer between steps and no fp32 copy in the "
          "optimizer.",
          {.profile = SaidByProfile::may,
           .said = "no buffer of gradients between steps",
           .default_text = kOfProfile}),
      integer_key<&ParallelPlan::execution, &ExecutionStyle::bucket_elements>(
          "bucket_elements", 1, kMostBucketElements,
          "Number of gradients or weights that are sent in one collective.",
          {.profile = SaidByProfile::always,
           .said = "buckets of {} elements",
           .default_text = "the framework profile's"}),
      number_key<&ParallelPlan::memory_margin>(
          "memory_margin", 0, 1,
          "The share of a GPU's memory that searches and `gc_layers` `auto` leave free.",
          {.said = "{} of the memory left free",
           .default_text = "0: the error of the estimate, 0.05 to 0.1 by the style of kernels; searches take "
                           "less where nothing else fits"}),
      named_key<kKernelStyles, &ParallelPlan::execution, &ExecutionStyle::kernels>(
          "kernels",
          "Which kernels compute what is neither a matrix product nor attention: `eager` (Hugging Face's "
          "modelling code), `liger` (the same with Liger's kernels), `compiled` (torch.compile), "
          "`transformer_engine` (Megatron-Core), `fused` (one kernel for each part), or `mixed` (it is not "
          "known: priced as fused, with the launches and the memory of eager kernels).",
          {.profile = SaidByProfile::may,
           .said = "{} kernels",
           .default_text = "the framework profile's, or `mixed`"}),
      named_key<kLossStyles, &ParallelPlan::execution, &ExecutionStyle::loss>(
          "loss",
          "How the loss is computed, which decides the memory of the logits: `plain` (8 bytes a logit), "
          "`upcast` (12; transformers, torchtitan), `vocabulary_parallel` (6, over the tensor-parallel GPUs; "
          "Megatron-Core), `in_place` (2; Unsloth), or `fused` (chunks of tokens; Liger).",
          {.profile = SaidByProfile::may,
           .said = "{} loss",
           .default_text = "the framework profile's, or `plain`"}),
      named_key<kShardStyles, &ParallelPlan::execution, &ExecutionStyle::shards>(
          "shards",
          "What shards weights under ZeRO 3, and so what the host does for each layer: `fsdp2`, or "
          "`deepspeed`, whose hooks run at every module.",
          {.profile = SaidByProfile::may,
           .said = "shards of {}",
           .default_text = "the framework profile's, or `fsdp2`"}),
      integer_key<&ParallelPlan::execution, &ExecutionStyle::loss_reads>(
          "loss_reads", 0, kMostLossReads,
          "How often in a micro-batch the host reads a value and so waits for the GPU: 1 behind the backward "
          "pass, as transformers' Trainer does unless `logging_nan_inf_filter` is false, 2 behind the "
          "forward "
          "pass too, as TRL's SFTTrainer does for its metrics.",
          {.profile = SaidByProfile::may,
           .said = "host reads in each micro-batch: {}",
           .default_text = "the framework profile's, or 0"}),
      number_key<&ParallelPlan::execution, &ExecutionStyle::launch_s>(
          "launch_s", 0, 1,
          "Seconds in which the host launches one plain operation of PyTorch, its part of autograd included. "
          "A "
          "GPU waits for its host where launches take longer than kernels. 0 for CUDA graphs.",
          {.profile = SaidByProfile::may,
           .said = "a kernel launch takes {} s",
           .default_text =
               "the framework profile's, or 13.5e-6: a linear layer of PyTorch on a Xeon 8480C. From "
               "a Grace CPU it is 33e-6 to 37e-6"}),
  };
  return kKeys;
}

}  // namespace

std::span<const PlanKey> plan_keys() {
  return all_keys();
}

std::vector<std::string> plan_key_names(PlanPart part) {
  std::vector<std::string> names;
  for (const PlanKey& key : all_keys())
    if (key.part == part) names.emplace_back(key.name());
  return names;
}

const PlanKey* find_plan_key(std::string_view name) {
  const auto key = std::ranges::find(all_keys(), name, &PlanKey::name);
  return key == all_keys().end() ? nullptr : &*key;
}

ParallelPlan default_plan() {
  return {.execution = {.launch_s = kTorchLaunch_s}};
}

PlanValue default_value(const PlanKey& key) {
  return key.get(default_plan());
}

}  // namespace packsim
