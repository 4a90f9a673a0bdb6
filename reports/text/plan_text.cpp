#include "reports/text/plan_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "models/plan_names.hpp"

namespace packsim::formats_detail {
namespace {

std::string model_parallel_text(const ParallelPlan& plan) {
  std::vector<std::string> degrees;
  if (plan.tp_degree > 1) degrees.push_back(fmt::format("TP {}", plan.tp_degree));
  if (plan.pp_degree > 1) degrees.push_back(fmt::format("PP {}", plan.pp_degree));
  if (plan.ep_degree > 1) degrees.push_back(fmt::format("EP {}", plan.ep_degree));
  std::string text = degrees.empty() ? "no model parallelism" : fmt::format("{}", fmt::join(degrees, " x "));
  if (plan.pipeline_schedule != nullptr)
    text += fmt::format(", scheduled by {}", plan.pipeline_schedule->name);
  if (plan.virtual_stages > 1) text += fmt::format(", {} virtual stages each", plan.virtual_stages);
  if (!plan.chunk_layers.empty()) text += fmt::format(" of {} layers", fmt::join(plan.chunk_layers, ", "));
  return text;
}

std::string checkpointing_text(const ParallelPlan& plan) {
  if (plan.checkpointing == Checkpointing::selective) return "selective checkpointing";
  if (plan.checkpointing == Checkpointing::operations) return "checkpointing by operation";
  std::vector<std::string_view> modules;
  for (const LayerModuleKind& kind : kLayerModules)
    if (plan.recomputed_modules.has(kind.module)) modules.push_back(kind.name);
  return fmt::format("checkpointed layers recompute {}", fmt::join(modules, ", "));
}

std::string lora_text(const ParallelPlan& plan) {
  std::string text = fmt::format("LoRA of rank {}", plan.lora_rank);
  if (!plan.lora_targets.is_all())
    text += fmt::format(" beside {}", fmt::join(plan.lora_targets.names(), ", "));
  if (plan.frozen_weights == FrozenWeights::nf4) text += "; frozen weights in 4 bits";
  return text;
}

}  // namespace

std::string zero_text(const ParallelPlan& plan) {
  return fmt::format("ZeRO {}", plan.zero_stage) +
         (plan.shard_degree > 0 ? fmt::format(" over {} GPUs", plan.shard_degree) : "");
}

std::string plan_text(const ParallelPlan& plan) {
  std::vector<std::string> parts = {model_parallel_text(plan), zero_text(plan)};
  if (plan.lora_rank > 0) parts.push_back(lora_text(plan));
  if (is_fp8(plan.precision))
    parts.push_back(fmt::format("products in {}{}", precision_kind(plan.precision).name,
                                plan.fp8_gather ? ", weights gathered in fp8" : ""));
  if (plan.checkpointing != Checkpointing::full) parts.push_back(checkpointing_text(plan));
  if (plan.offload.any())
    parts.push_back(fmt::format("{} in host memory", fmt::join(offload_names(plan.offload), ", ")));
  if (plan.latent_exchange) parts.emplace_back("latents exchanged");
  if (plan.expert_dispatch == ExpertDispatch::deduplicated) parts.emplace_back("deduplicated dispatch");
  if (plan.expert_imbalance > 1)
    parts.push_back(fmt::format("the GPU whose experts get most tokens has {:.4g} times the mean",
                                plan.expert_imbalance));
  if (plan.mlp_tiles > 1) parts.push_back(fmt::format("MLP in {} tiles", plan.mlp_tiles));
  if (plan.loss_tiles > 1) parts.push_back(fmt::format("loss in {} tiles", plan.loss_tiles));
  if (plan.uneven_heads) parts.emplace_back("uneven heads");
  parts.emplace_back(plan.execution.fp32_gradients ? "gradients in fp32" : "gradients in bf16");
  parts.emplace_back(plan.execution.overlaps_states ? "gradients and weights travel beside computation"
                                                    : "computation waits for gradients and weights");
  if (plan.execution.overlaps_gather) parts.emplace_back("updated weights are gathered in the next step");
  if (plan.tp_degree > 1) {
    parts.emplace_back(plan.execution.overlaps_tensor ? "tensor-parallel exchange runs beside products"
                                                      : "products wait for tensor-parallel exchange");
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string sequence_text(const SequenceParallelism& sequence) {
  return sequence.ring == 1 ? fmt::format("{}", sequence.ulysses)
                            : fmt::format("{} x CP {}", sequence.ulysses, sequence.ring);
}

}  // namespace packsim::formats_detail
