#include <fmt/format.h>

#include <algorithm>

#include "reports/settings/formats.hpp"

namespace packsim::settings_detail {
namespace {

// Accelerate checks that the sizes multiply to the number of processes.
std::string sizes(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  if (plan.pp_degree > 1) return "";
  const int replicas = plan.shard_degree > 0 ? std::max(1, plan.state_gpus() / plan.shard_degree) : 1;
  return fmt::format(
      "parallelism_config:\n"
      "  parallelism_config_dp_replicate_size: {}\n"
      "  parallelism_config_dp_shard_size: {}\n"
      "  parallelism_config_tp_size: {}\n",
      replicas, plan.state_gpus() / replicas, plan.tp_degree);
}

}  // namespace

std::string fsdp2_settings(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  return fmt::format(
             "# accelerate launch --config_file fsdp2.yaml ... on each node, with its own machine_rank.\n"
             "compute_environment: LOCAL_MACHINE\n"
             "distributed_type: FSDP\n"
             "mixed_precision: bf16\n"
             "num_machines: {}\n"
             "num_processes: {}\n"
             "machine_rank: 0\n"
             "fsdp_config:\n"
             "  fsdp_version: 2\n"
             "  fsdp_reshard_after_forward: {}\n"
             "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
             "  fsdp_activation_checkpointing: {}\n"
             "  fsdp_offload_params: {}\n"
             "  fsdp_state_dict_type: SHARDED_STATE_DICT\n",
             job.nodes, job.n_gpus, yes_no(plan.zero_stage == 3), yes_no(plan.gc_layers > 0),
             yes_no(plan.offload.weights || plan.offload.optimizer)) +
         sizes(job);
}

Sentences fsdp2_unsaid(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  Sentences unsaid = {
      fmt::format("Packs of up to {} tokens, {} of them for each rank in a step, are the training loop's.",
                  job.capacity_tokens, job.micro_batches_per_rank)};
  add_all_layers(job, unsaid);
  for (const std::string& sentence : beyond_hugging_face(job)) {
    if (!sentence.starts_with("Tensor parallelism")) unsaid.push_back(sentence);
  }
  add_if(plan.zero_stage < 2,
         fmt::format("ZeRO {} is not FSDP2's, which shards gradients as well.", plan.zero_stage), unsaid);
  add_if(
      plan.zero_stage >= 2 && job.micro_batches_per_rank > 1,
      "Accelerate keeps whole gradients until the last micro-batch, which takes more memory than the plan. "
      "A loop of your own may shard them after each.",
      unsaid);
  add_sequence(
      job,
      "context parallelism of Accelerate does not keep the documents of a pack apart. These GPUs are said "
      "as data-parallel ones.",
      unsaid);
  add_if(plan.execution.fp32_gradients, "Gradients in fp32 are not said: Accelerate reduces them in bf16.",
         unsaid);
  add_if(!plan.execution.overlaps_states,
         "FSDP2 sends weights and gradients beside computation, the plan does not.", unsaid);
  add_if(plan.offload.optimizer != plan.offload.weights,
         "Weights and optimizer states are offloaded together; the plan offloads one of them.", unsaid);
  return unsaid;
}

}  // namespace packsim::settings_detail
