#include <fmt/format.h>

#include <algorithm>

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
  // Megatron-LM counts the layers of each chunk of a stage.
  const int per_chunk = (plan.gc_layers + plan.n_chunks() - 1) / plan.n_chunks();
  return fmt::format(
      "  --recompute-granularity full\n  --recompute-method block\n  --recompute-num-layers {}\n", per_chunk);
}

// Weights, gradients and optimizer states.
std::string state_arguments(const ParallelPlan& plan) {
  std::string text;
  if (plan.zero_stage == 1) text += "  --use-distributed-optimizer\n";
  if (plan.zero_stage == 1 && plan.shard_degree > 0)
    text += fmt::format("  --num-distributed-optimizer-instances {}\n",
                        std::max(1, plan.state_gpus() / plan.shard_degree));
  if (plan.zero_stage >= 2)
    text += fmt::format(
        "  --use-megatron-fsdp --ckpt-format fsdp_dtensor  # and CUDA_DEVICE_MAX_CONNECTIONS other than 1\n"
        "  --data-parallel-sharding-strategy {}\n",
        plan.zero_stage == 2 ? "optim_grads" : "optim_grads_params");
  if (plan.execution.overlaps_states) text += "  --overlap-grad-reduce\n";
  if (plan.execution.overlaps_gather && plan.execution.overlaps_states && plan.zero_stage > 0)
    text += "  --overlap-param-gather\n";
  if (plan.execution.overlaps_tensor) text += "  --tp-comm-overlap\n";
  text += plan.execution.fp32_gradients ? "  --accumulate-allreduce-grads-in-fp32\n"
                                        : "  --grad-reduce-in-bf16\n";
  if (plan.offload.optimizer) text += "  --optimizer-cpu-offload\n";
  return text;
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
  // Megatron splits experts like MLPs unless it is told.
  if (plan.tp_degree > 1 && job.has_experts)
    text += fmt::format("  --expert-tensor-parallel-size {}\n", plan.expert_tp_degree());
  text += state_arguments(plan);
  text += recompute_arguments(job);
  return text + ")\n";
}

Sentences megatron_unsaid(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  Sentences unsaid = {
      "Packs are the data's: --seq-length alone neither packs documents nor keeps them apart (--sft, or "
      "packsim.trainers.MegatronBatches)."};
  add_if(plan.checkpointing == Checkpointing::full && plan.gc_layers % plan.n_chunks() != 0,
         fmt::format(
             "{} checkpointed layers are no multiple of {} chunks of a pipeline: each recomputes one more "
             "than the plan says.",
             plan.gc_layers, plan.n_chunks()),
         unsaid);
  add_if(plan.checkpointing == Checkpointing::operations && plan.gc_layers > 0,
         "Checkpointing by operation is torchtitan's.", unsaid);
  add_if(!plan.chunk_layers.empty(),
         "Chunks of different sizes are said by --pipeline-model-parallel-layout, not here.", unsaid);
  add_if(plan.zero_stage != 1 && plan.shard_degree > 0,
         fmt::format("Shards over {} GPUs with replicas are not said.", plan.shard_degree), unsaid);
  add_if(plan.offload.weights, "Weights in host memory are not said.", unsaid);
  add_if(plan.execution.overlaps_gather && (!plan.execution.overlaps_states || plan.zero_stage == 0),
         "Gathers beside the next forward pass need gradients that are reduced beside the backward pass, and "
         "ZeRO.",
         unsaid);
  return unsaid;
}

}  // namespace packsim::settings_detail
