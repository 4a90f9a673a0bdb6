#include "validation/step_stacks.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "scenarios/loader/read_published_steps.hpp"

namespace packsim {
namespace {

constexpr std::array kInNoFit = {PlanTrait::experts, PlanTrait::offload, PlanTrait::fp8};

// Each step in the styles of its stack.
std::vector<PublishedStep> load_steps(const std::string& file, const DataPaths& data) {
  std::vector<PublishedStep> steps = load_published_steps(data.root + "/validation/" + file, data).steps;
  for (PublishedStep& step : steps) {
    const StepStack& stack = stack_of(step.source);
    step.plan.execution.kernels = stack.kernels;
    step.plan.execution.loss = stack.loss;
    step.plan.execution.experts = stack.experts;
    step.plan.execution.splits_experts = stack.splits_experts;
    if (step.plan.execution.optimizer == &kAdamW) step.plan.execution.optimizer = stack.optimizer;
  }
  return steps;
}

}  // namespace

const std::vector<StepStack>& step_stacks() {
  static const std::vector<StepStack> stacks = {
      {.name = "LLM Foundry",
       .source_starts = {"llm_foundry"},
       .optimizer = &kAdamWFp32,
       .profiles = {{.name = "llm-foundry-fsdp-h100",
                     .sources = {"llm_foundry"},
                     .gpu = "h100-sxm-80gb",
                     .hardware = "h100-sxm-public-fa2",
                     .has_own_attention = true,
                     .description = "MosaicML LLM Foundry, Composer FSDP, MPT models on 8 to 512 H100"},
                    {.name = "llm-foundry-fsdp-a100",
                     .sources = {"llm_foundry_a100_80gb"},
                     .gpu = "a100-sxm-80gb",
                     .hardware = "h100-sxm-public-fa2",
                     .has_own_attention = true,
                     .description = "MosaicML LLM Foundry, Composer FSDP, MPT models on 8 to 64 A100"}}},
      {.name = "NeMo",
       .source_starts = {"dgxc_", "gcp_", "nemo_"},
       .kernels = &kTransformerEngineKernels,
       .loss = &kVocabularyParallelLoss,
       .splits_experts = true,
       .profiles = {{.name = "nemo-megatron-h100",
                     .sources = {"dgxc_llama3.1", "dgxc_nemotron4", "dgxc_gpt3"},
                     .gpu = "h100-sxm-80gb",
                     .hardware = "h100-sxm-public",
                     .description = "NVIDIA NeMo on 8 to 2048 H100 (DGX Cloud benchmarking)"}}},
      {.name = "Megatron-Bridge",
       .source_starts = {"mbridge_"},
       .kernels = &kTransformerEngineKernels,
       .loss = &kVocabularyParallelLoss,
       .priced_by = "nemo-megatron-h100",
       .profiles = {}},
      {.name = "NeMo AutoModel",
       .source_starts = {"automodel"},
       .profiles = {{.name = "nemo-automodel-h100",
                     .sources = {"automodel", "automodel_1gpu"},
                     .gpu = "h100-sxm-80gb",
                     .hardware = "h100-sxm-public",
                     .description = "NVIDIA NeMo AutoModel: Hugging Face models with FSDP2 on H100"}}},
      {.name = "torchtitan",
       .source_starts = {"torchtitan"},
       .kernels = &kCompiledKernels,
       .loss = &kUpcastLoss,
       .optimizer = &kAdamWFp32,
       .experts = &kGroupedExperts,
       .profiles = {{.name = "torchtitan-fsdp2-a100",
                     .sources = {"torchtitan_a100"},
                     .gpu = "a100-sxm-80gb",
                     .hardware = "h100-sxm-public-fa2",
                     .description = "torchtitan, FSDP2, Llama 2 and 3 on 64 A100"}}},
      {.name = "fms-fsdp",
       .source_starts = {"fms_fsdp"},
       .kernels = &kCompiledKernels,
       .optimizer = &kAdamWFp32,
       .profiles = {{.name = "fms-fsdp-a100",
                     .sources = {"fms_fsdp_a100"},
                     .gpu = "a100-sxm-80gb",
                     .hardware = "h100-sxm-public-fa2",
                     .description = "IBM fms-fsdp, FSDP, Llama 2 on 128 A100"}}},
      {.name = "InternEvo",
       .source_starts = {"internevo"},
       .loss = &kVocabularyParallelLoss,
       .profiles = {{.name = "internevo-a100",
                     .sources = {"internevo", "internevo_hybrid"},
                     .gpu = "a100-sxm-80gb",
                     .hardware = "h100-sxm-public-fa2",
                     .description = "InternLM InternEvo, 7B model on 8 to 1024 A100"}}},
      {.name = "Megatron-DeepSpeed",
       .source_starts = {"bigscience"},
       .kernels = &kTransformerEngineKernels,
       .loss = &kVocabularyParallelLoss,
       .profiles = {{.name = "megatron-deepspeed-a100",
                     .sources = {"bigscience_bf16"},
                     .gpu = "a100-sxm-80gb",
                     .hardware = "h100-sxm-public",
                     .description = "BigScience Megatron-DeepSpeed, models of BLOOM's size on 384 A100"}}},
      {.name = "XTuner",
       .source_starts = {"xtuner"},
       .profiles = {{.name = "xtuner-deepspeed-a100",
                     .sources = {"xtuner_a100"},
                     .gpu = "a100-sxm-80gb",
                     .hardware = "h100-sxm-public-fa2",
                     .description =
                         "InternLM XTuner: DeepSpeed ZeRO 3 and Ulysses, 8K to 1M tokens on A100"}}},
      {.name = "fsdp_qlora",
       .source_starts = {"fsdp_qlora"},
       .kernels = &kMixedKernels,
       .profiles = {{.name = "fsdp-qlora-rtx4090",
                     .sources = {"fsdp_qlora"},
                     .gpu = "rtx-4090-24gb",
                     .hardware = "h100-sxm-public-fa2",
                     .description = "Answer.AI fsdp_qlora: LoRA and QLoRA on RTX 4090"}}},
      {.name = "torchtune",
       .source_starts = {"torchtune"},
       .kernels = &kMixedKernels,
       .loss = &kUpcastLoss,
       .profiles = {}},
      {.name = "transformers",
       .source_starts = {"transformers"},
       .kernels = &kEagerKernels,
       .loss = &kUpcastLoss,
       .profiles = {}},
      {.name = "EasyContext", .source_starts = {"easycontext"}, .kernels = &kMixedKernels, .profiles = {}},
  };
  return stacks;
}

const StepStack& stack_of(std::string_view source) {
  const auto is_of = [&](const StepStack& stack) {
    return std::ranges::any_of(stack.source_starts,
                               [&](std::string_view start) { return source.starts_with(start); });
  };
  const auto at = std::ranges::find_if(step_stacks(), is_of);
  if (at == step_stacks().end())
    throw std::invalid_argument("no stack has the source " + std::string(source));
  return *at;
}

bool is_fitted_to(const StackProfile& profile, const PublishedStep& step) {
  if (step.cluster.gpu.name != profile.gpu) return false;
  if (std::ranges::find(profile.sources, step.source) == profile.sources.end()) return false;
  if (!plan_mistakes(step.model, step.cluster, step.plan).empty()) return false;
  return std::ranges::none_of(plan_traits(step.model, step.plan), [](PlanTrait trait) {
    return std::ranges::find(kInNoFit, trait) != kInNoFit.end();
  });
}

std::vector<PublishedStep> load_held_out_steps(const DataPaths& data) {
  return load_steps("held_out_steps.json", data);
}

std::vector<PublishedStep> load_transformers_steps(const DataPaths& data) {
  return load_steps("transformers_steps.json", data);
}

std::vector<PublishedStep> load_all_steps(const DataPaths& data) {
  std::vector<PublishedStep> steps = load_steps("published_steps.json", data);
  const std::vector<PublishedStep> held_out = load_held_out_steps(data);
  steps.insert(steps.end(), held_out.begin(), held_out.end());
  return steps;
}

}  // namespace packsim
