#include <fmt/format.h>

#include "reports/settings/formats.hpp"

namespace packsim::settings_detail {
namespace {

std::string recompute_arguments(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  if (plan.gc_layers == 0) return "";
  if (plan.checkpointing == Checkpointing::selective) return "  --recompute-granularity selective\n";
  if (plan.checkpointing == Checkpointing::modules) {
    std::string modules;
    for (const LayerModuleKind& kind : kLayerModules) {
      if (plan.recomputed_modules.has(kind.module)) modules += " " + std::string(kind.name);
    }
    return "  --recompute-granularity selective\n  --recompute-modules" + modules + "\n";
  }
  // Of each chunk of a stage.
  const int per_chunk = (plan.gc_layers + plan.n_chunks() - 1) / plan.n_chunks();
  return fmt::format(
      "  --recompute-granularity full\n  --recompute-method block\n  --recompute-num-layers {}\n", per_chunk);
}

}  // namespace

std::string megatron_settings(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  const int context = plan.sequence.gpus_per_pack();
  std::string text = fmt::format(
      "# Arguments of Megatron-LM's training scripts: torchrun --nnodes {} --nproc-per-node {} ... "
      "\"${{ARGS[@]}}\"\n"
      "ARGS=(\n"
      "  --bf16\n"
      "  --seq-length {}\n"
      "  --micro-batch-size 1\n"
      "  --global-batch-size {}\n"
      "  --tensor-model-parallel-size {}\n"
      "  --context-parallel-size {}\n"
      "  --pipeline-model-parallel-size {}\n",
      job.nodes, job.n_gpus / job.nodes, job.capacity_tokens, plan.dp_degree() * job.micro_batches_per_rank,
      plan.tp_degree, context, plan.pp_degree);
  if (plan.tp_degree > 1) text += "  --sequence-parallel\n";
  if (context > 1 && plan.sequence.ring == 1) text += "  --cp-comm-type a2a\n";
  if (context > 1 && plan.sequence.ulysses == 1) text += "  --cp-comm-type p2p\n";
  if (plan.sequence.ring > 1 && plan.sequence.ulysses > 1)
    text += fmt::format("  --cp-comm-type a2a+p2p\n  --hierarchical-context-parallel-sizes {} {}\n",
                        plan.sequence.ulysses, plan.sequence.ring);
  if (plan.virtual_stages > 1 && plan.chunk_layers.empty())
    text += fmt::format("  --num-layers-per-virtual-pipeline-stage {}\n", job.n_layers / plan.n_chunks());
  if (plan.ep_degree > 1) text += fmt::format("  --expert-model-parallel-size {}\n", plan.ep_degree);
  if (plan.zero_stage == 1) text += "  --use-distributed-optimizer\n";
  if (plan.zero_stage >= 2)
    text += fmt::format("  --use-megatron-fsdp\n  --data-parallel-sharding-strategy {}\n",
                        plan.zero_stage == 2 ? "optim_grads" : "optim_grads_params");
  if (plan.execution.overlaps_states) text += "  --overlap-grad-reduce\n";
  if (plan.execution.overlaps_gather) text += "  --overlap-param-gather\n";
  if (plan.execution.overlaps_tensor) text += "  --tp-comm-overlap\n";
  if (plan.execution.fp32_gradients) text += "  --accumulate-allreduce-grads-in-fp32\n";
  text += recompute_arguments(job);
  return text + ")\n";
}

std::vector<std::string> megatron_unsaid(const TrainerJob& job) {
  std::vector<std::string> unsaid;
  const ParallelPlan& plan = job.plan;
  if (plan.checkpointing == Checkpointing::full && plan.gc_layers % plan.n_chunks() != 0)
    unsaid.push_back(
        fmt::format("{} checkpointed layers are no multiple of {} chunks of a pipeline: each "
                    "recomputes one more than the plan says.",
                    plan.gc_layers, plan.n_chunks()));
  if (plan.checkpointing == Checkpointing::operations && plan.gc_layers > 0)
    unsaid.push_back("Checkpointing by operation is torchtitan's.");
  if (!plan.chunk_layers.empty())
    unsaid.push_back("Chunks of different sizes are said by --pipeline-model-parallel-layout, not here.");
  if (plan.lora_rank > 0) unsaid.push_back("LoRA is Megatron-Bridge's to set up.");
  return unsaid;
}

}  // namespace packsim::settings_detail
