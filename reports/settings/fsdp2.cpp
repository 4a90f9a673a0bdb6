#include <fmt/format.h>

#include <algorithm>

#include "reports/settings/formats.hpp"

namespace packsim::settings_detail {

std::string fsdp2_settings(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  const int sequence = plan.sequence.gpus_per_pack();
  const int replicas = plan.shard_degree > 0 ? std::max(1, plan.state_gpus() / plan.shard_degree) : 1;
  // Accelerate counts the GPUs of a sequence apart from those of shards.
  const int shards = std::max(1, plan.state_gpus() / replicas / sequence);
  return fmt::format(
      "# accelerate launch --config_file fsdp2.yaml ... on each of the nodes, with its own machine_rank.\n"
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
      "  fsdp_state_dict_type: SHARDED_STATE_DICT\n"
      "parallelism_config:\n"
      "  parallelism_config_dp_replicate_size: {}\n"
      "  parallelism_config_dp_shard_size: {}\n"
      "  parallelism_config_tp_size: {}\n"
      "  parallelism_config_cp_size: {}\n",
      job.nodes, job.n_gpus, yes_no(plan.zero_stage == 3), yes_no(plan.gc_layers > 0),
      yes_no(plan.offload.weights || plan.offload.optimizer), replicas, shards, plan.tp_degree, sequence);
}

std::vector<std::string> fsdp2_unsaid(const TrainerJob& job) {
  std::vector<std::string> unsaid = {fmt::format(
      "Packs of up to {} tokens, {} of them for each rank in a step, are the training loop's (trl.yaml).",
      job.capacity_tokens, job.micro_batches_per_rank)};
  for (const std::string& sentence : all_or_none_layers(job)) unsaid.push_back(sentence);
  if (job.plan.zero_stage < 2)
    unsaid.push_back(
        fmt::format("ZeRO {}: FSDP2 shards gradients too, and exchanges them after every micro-batch.",
                    job.plan.zero_stage));
  if (job.plan.sequence.ulysses > 1)
    unsaid.push_back(fmt::format(
        "Ulysses over {} GPUs: context parallelism of FSDP2 gathers keys and values instead. Accelerate has "
        "Ulysses by DeepSpeed (deepspeed.json).",
        job.plan.sequence.ulysses));
  if (job.plan.pp_degree > 1)
    unsaid.push_back(fmt::format("A pipeline over {} GPUs is not said.", job.plan.pp_degree));
  if (job.plan.ep_degree > 1)
    unsaid.push_back(fmt::format("Expert parallelism over {} GPUs is not said.", job.plan.ep_degree));
  return unsaid;
}

}  // namespace packsim::settings_detail
