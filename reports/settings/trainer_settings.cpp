#include "reports/settings/trainer_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "reports/settings/formats.hpp"
#include "reports/text/numbers.hpp"

namespace packsim {
namespace {

using namespace settings_detail;
using formats_detail::grouped;

const std::array kFormats = {
    TrainerFormat{"DeepSpeed", "deepspeed.json", deepspeed_settings, deepspeed_unsaid},
    TrainerFormat{"FSDP2 by Accelerate", "fsdp2.yaml", fsdp2_settings, fsdp2_unsaid},
    TrainerFormat{"Megatron-LM", "megatron.sh", megatron_settings, megatron_unsaid},
    TrainerFormat{"TRL", "trl.yaml", trl_settings, trl_unsaid},
    TrainerFormat{"axolotl", "axolotl.yaml", axolotl_settings, axolotl_unsaid},
};

// Micro-batches of full packs that have as many tokens as an iteration of the job, rounded up.
int full_micro_batches(const RunManifest& manifest, std::int64_t capacity_tokens, int n_ranks) {
  const double tokens = static_cast<double>(capacity_tokens) * std::max(n_ranks, 1);
  return std::max(1,
                  static_cast<int>(std::ceil(static_cast<double>(manifest.tokens_per_iteration) / tokens)));
}

bool differs(const PlannedGroup& one, const PlannedGroup& other) {
  return one.sequence != other.sequence || one.gc_layers != other.gc_layers ||
         one.zero_stage != other.zero_stage || one.capacity_tokens != other.capacity_tokens;
}

// Parts of a plan that trainers set in ways of their own, if at all.
void add_unsaid_parts(const ParallelPlan& plan, std::vector<std::string>& remarks) {
  const auto add = [&](bool is_there, std::string text) {
    if (is_there) remarks.push_back(std::move(text));
  };
  add(plan.lora_rank > 0, fmt::format("LoRA of rank {} is not said.", plan.lora_rank));
  add(plan.frozen_weights->is_packed(), "Frozen weights in 4 bits are not said.");
  add(is_narrow(plan.precision), "Matrix products in fp8 are not said.");
  add(plan.mlp_tiles > 1, fmt::format("An MLP in {} tiles (ALST) is not said.", plan.mlp_tiles));
  add(plan.loss_tiles > 1, fmt::format("A loss in {} tiles is not said.", plan.loss_tiles));
  add(plan.offload.activations, "Inputs of checkpointed layers in host memory are not said.");
  add(plan.offload.gradients && !plan.offload.optimizer, "Gradients in host memory are not said.");
}

}  // namespace

TrainerJob trainer_job(const RunManifest& manifest, const StrategyResult& run, const Transformer& model,
                       int nodes) {
  if (run.groups.empty()) throw std::invalid_argument("expected a run with groups of packs, got " + run.name);
  const PlannedGroup& group =
      *std::ranges::max_element(run.groups, {}, [](const PlannedGroup& g) { return g.capacity_tokens; });
  TrainerJob job{.model = manifest.model,
                 .n_layers = model.n_layers,
                 .has_experts = model.has_experts(),
                 .nodes = nodes,
                 .n_gpus = manifest.n_gpus,
                 .epochs = manifest.epochs,
                 .capacity_tokens = group.capacity_tokens,
                 .micro_batches_per_rank = group.micro_batches_per_rank.value_or(1),
                 .plan = plan_of_group(run.plan, group),
                 .remarks = {}};
  const auto n_others =
      std::ranges::count_if(run.groups, [&](const PlannedGroup& other) { return differs(group, other); });
  if (n_others > 0) {
    job.remarks.push_back(fmt::format(
        "The plan has {} groups of packs with degrees of their own, and a trainer's settings have one. "
        "These are of the longest packs, up to {} tokens, in which all others fit, and cost more "
        "than the plan. A loop that reads schedule.plan (packsim.torch) takes every group as it is.",
        run.groups.size(), grouped(group.capacity_tokens)));
  }
  if (n_others > 0 || !group.micro_batches_per_rank) {
    job.micro_batches_per_rank = full_micro_batches(manifest, group.capacity_tokens, job.plan.dp_degree());
    job.remarks.push_back(fmt::format(
        "Steps of the plan have different packs. {} micro-batches of full packs for each of {} ranks are "
        "what an "
        "iteration of {} tokens needs, rounded up.",
        job.micro_batches_per_rank, job.plan.dp_degree(), grouped(manifest.tokens_per_iteration)));
  }
  add_unsaid_parts(job.plan, job.remarks);
  return job;
}

std::span<const TrainerFormat> trainer_formats() {
  return kFormats;
}

std::string settings_readme(const TrainerJob& job) {
  std::string text = fmt::format(
      "# Settings\n\nThe plan for {} on {} GPUs ({} nodes), as far as the settings of trainers can say it. A "
      "micro-batch is a pack of up "
      "to\n{} tokens. ../schedule.plan, where it was written, lists the samples of each pack. None of these "
      "files was run in "
      "its trainer: try a step before you book the cluster.\n\n"
      "| file | trainer |\n|---|---|\n",
      job.model, grouped(job.n_gpus), grouped(job.nodes), grouped(job.capacity_tokens));
  for (const TrainerFormat& format : kFormats) text += fmt::format("| {} | {} |\n", format.file, format.name);
  if (!job.remarks.empty()) text += "\n## For all of them\n\n";
  for (const std::string& remark : job.remarks) text += "- " + remark + "\n";
  for (const TrainerFormat& format : kFormats) {
    const std::vector<std::string> unsaid = format.unsaid(job);
    text += fmt::format("\n## What {} cannot say\n\n", format.file);
    if (unsaid.empty()) text += "Nothing: it says all of this plan.\n";
    for (const std::string& sentence : unsaid) text += "- " + sentence + "\n";
  }
  return text;
}

namespace settings_detail {

void add_if(bool holds, std::string sentence, Sentences& sentences) {
  if (holds) sentences.push_back(std::move(sentence));
}

Sentences beyond_hugging_face(const TrainerJob& job) {
  const ParallelPlan& plan = job.plan;
  Sentences unsaid;
  add_if(plan.tp_degree > 1, fmt::format("Tensor parallelism over {} GPUs is not said.", plan.tp_degree),
         unsaid);
  add_if(plan.pp_degree > 1, fmt::format("A pipeline over {} GPUs is not said.", plan.pp_degree), unsaid);
  add_if(plan.ep_degree > 1, fmt::format("Expert parallelism over {} GPUs is not said.", plan.ep_degree),
         unsaid);
  add_if(plan.gc_layers > 0 && plan.checkpointing != Checkpointing::full,
         "Checkpointing of parts of a layer is not said; whole layers are recomputed.", unsaid);
  add_if(plan.execution.overlaps_gather, "Gathers beside the next forward pass are not said.", unsaid);
  add_if(plan.execution.overlaps_tensor, "Tensor-parallel communication beside products is not said.",
         unsaid);
  return unsaid;
}

void add_all_layers(const TrainerJob& job, Sentences& sentences) {
  add_if(job.plan.gc_layers > 0 && job.plan.gc_layers < job.n_layers,
         fmt::format(
             "{} of {} layers are checkpointed. The file says all, which is slower and takes less memory.",
             job.plan.gc_layers, job.n_layers),
         sentences);
}

void add_sequence(const TrainerJob& job, const std::string& how, Sentences& sentences) {
  const SequenceParallelism& sequence = job.plan.sequence;
  add_if(sequence.gpus_per_pack() > 1,
         fmt::format(
             "Packs over {} GPUs (Ulysses {}, ring attention {}) are not said, and without them a pack may "
             "not fit and a step trains {} times the tokens: {}",
             sequence.gpus_per_pack(), sequence.ulysses, sequence.ring, sequence.gpus_per_pack(), how),
         sentences);
}

const char* yes_no(bool value) {
  return value ? "true" : "false";
}

}  // namespace settings_detail
}  // namespace packsim
