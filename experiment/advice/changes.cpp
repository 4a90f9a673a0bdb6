#include "experiment/advice/changes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/styles/kernel_styles.hpp"
#include "models/styles/loss_style.hpp"

namespace packsim {
namespace {

using Found = std::optional<Settings>;

// "strategies.isf.", or with the strategy's number if a dot in its name would be read as a step.
std::string of_strategy(const Scenario& scenario, const StrategySpec& spec) {
  if (spec.name.find_first_of(".=") == std::string::npos) return "strategies." + spec.name + ".";
  const auto at = std::ranges::find(scenario.strategies, spec.name, &StrategySpec::name);
  return fmt::format("strategies.{}.", at - scenario.strategies.begin());
}

bool has_network_in_numbers(const Scenario& scenario) {
  return !scenario.cluster.design && scenario.cluster.network.nics_per_node > 0;
}

Found zero_stage(const Scenario& scenario, const StrategySpec& spec, int stage) {
  const std::vector<int>& tried = spec.zero_stages;
  if (base_plan(scenario, spec).zero_stage == stage || std::ranges::find(tried, stage) != tried.end())
    return {};
  const std::string key = tried.empty() ? "zero_stage" : "zero_stages";
  return Settings{fmt::format("{}{}={}", of_strategy(scenario, spec), key,
                              tried.empty() ? std::to_string(stage) : fmt::format("[{}]", stage))};
}

// A key of the strategy's parallelism.
Settings parallelism(const Scenario& scenario, const StrategySpec& spec, std::string_view setting) {
  return {fmt::format("{}parallelism.{}", of_strategy(scenario, spec), setting)};
}

// Sets a key of the strategy's only group to half or twice of what it is.
Found of_only_group(const Scenario& scenario, const StrategySpec& spec, std::string_view key, double value) {
  if (spec.groups.size() != 1 || spec.searches_plan || value < 1) return {};
  return Settings{fmt::format("{}{}={:.0f}", of_strategy(scenario, spec), key, value)};
}

double only_capacity(const StrategySpec& spec) {
  return spec.groups.size() == 1 ? static_cast<double>(spec.groups.front().capacity_tokens) : 0;
}

double only_sp_degree(const StrategySpec& spec) {
  return spec.groups.size() == 1 ? spec.groups.front().sequence.ulysses : 0;
}

Found twice_the_nics(const Scenario& scenario, const StrategySpec&) {
  if (!has_network_in_numbers(scenario) || scenario.cluster.nodes == 1) return {};
  return Settings{fmt::format("cluster.nic_bytes_per_s={:g}", 2 * scenario.cluster.network.nic_bytes_per_s)};
}

Found twice_the_nvlink(const Scenario& scenario, const StrategySpec&) {
  if (!has_network_in_numbers(scenario)) return {};
  return Settings{
      fmt::format("cluster.nvlink_bytes_per_s={:g}", 2 * scenario.cluster.network.nvlink_bytes_per_s)};
}

// The same GPUs in half as many nodes.
Found twice_the_node(const Scenario& scenario, const StrategySpec&) {
  const Cluster& cluster = scenario.cluster;
  if (!has_network_in_numbers(scenario) || cluster.nodes % 2 != 0) return {};
  return Settings{fmt::format("cluster.nodes={}", cluster.nodes / 2),
                  fmt::format("cluster.gpus_per_node={}", 2 * cluster.gpus_per_node),
                  fmt::format("cluster.nics_per_node={}", 2 * cluster.network.nics_per_node)};
}

Found twice_the_memory(const Scenario& scenario, const StrategySpec&) {
  return Settings{fmt::format("cluster.gpu_memory_bytes={}", 2 * scenario.cluster.gpu.memory_bytes)};
}

// Shipped profiles whose name ends like this have the attention of FlashAttention 2, and those without it
// that of FlashAttention 3 (calibration/README.md).
Found flash_attention_3(const Scenario& scenario, const StrategySpec&) {
  constexpr std::string_view kOfFlashAttention2 = "-fa2";
  const std::string& hardware = scenario.hardware.name;
  if (!hardware.ends_with(kOfFlashAttention2)) return {};
  return Settings{"hardware=" + hardware.substr(0, hardware.size() - kOfFlashAttention2.size())};
}

Found fp8_products(const Scenario& scenario, const StrategySpec& spec) {
  const Gpu& gpu = scenario.cluster.gpu;
  if (!gpu.peak("fp8") || is_narrow(base_plan(scenario, spec).precision)) return {};
  return parallelism(scenario, spec, gpu.peak("mxfp8") ? "precision=mxfp8" : "precision=fp8_current");
}

bool has_eager_kernels(const Scenario& scenario, const StrategySpec& spec) {
  return base_plan(scenario, spec).execution.kernels == &kEagerKernels;
}

// Fewer kernels to launch, and fewer bytes that they move.
Found other_kernels(const Scenario& scenario, const StrategySpec& spec, const KernelStyle& style) {
  if (!has_eager_kernels(scenario, spec)) return {};
  return parallelism(scenario, spec, fmt::format("kernels={}", style.name));
}

Found fused_loss(const Scenario& scenario, const StrategySpec& spec) {
  const ParallelPlan& plan = base_plan(scenario, spec);
  if (plan.execution.loss == &kFusedLoss || plan.tp_degree > 1) return {};
  return parallelism(scenario, spec, "loss=fused");
}

// A host that runs ahead of its GPU from micro-batch to micro-batch. Metrics that are read behind the forward
// pass cannot be switched off.
Found unread_losses(const Scenario& scenario, const StrategySpec& spec) {
  if (base_plan(scenario, spec).execution.loss_reads != 1) return {};
  return parallelism(scenario, spec, "loss_reads=0");
}

Found grouped_experts(const Scenario& scenario, const StrategySpec& spec) {
  if (!scenario.model.has_experts() || base_plan(scenario, spec).execution.experts != &kLoopedExperts)
    return {};
  return parallelism(scenario, spec, "experts=grouped");
}

// As a host that launches at once, or CUDA graphs.
Found free_launches(const Scenario& scenario, const StrategySpec& spec) {
  if (base_plan(scenario, spec).execution.launch_s <= 0) return {};
  return parallelism(scenario, spec, "launch_s=0");
}

Found overlapped_states(const Scenario& scenario, const StrategySpec& spec) {
  if (base_plan(scenario, spec).execution.overlaps_states) return {};
  return parallelism(scenario, spec, "overlaps_states=true");
}

Found offloaded_optimizer(const Scenario& scenario, const StrategySpec& spec) {
  if (base_plan(scenario, spec).offload.any()) return {};
  return parallelism(scenario, spec, "offload=optimizer");
}

Found selective_checkpointing(const Scenario& scenario, const StrategySpec& spec) {
  if (base_plan(scenario, spec).checkpointing != Checkpointing::full) return {};
  return parallelism(scenario, spec, "checkpointing=selective");
}

std::function<Found(const Scenario&, const StrategySpec&)> stage(int zero_stage_) {
  return [=](const Scenario& scenario, const StrategySpec& spec) {
    return zero_stage(scenario, spec, zero_stage_);
  };
}

// Makes this exchange free, besides what is free in the scenario already.
Found with_free(const Scenario& scenario, std::string_view name) {
  std::vector<std::string_view> free = free_names(scenario);
  if (std::ranges::find(free, name) != free.end()) return {};
  if (free.empty()) return Settings{fmt::format("what_if.free={}", name)};
  free.push_back(name);
  return Settings{fmt::format("what_if.free=[\"{}\"]", fmt::join(free, "\",\""))};
}

// A strategy that chooses its groups may share packs.
bool shares_packs(const StrategySpec& spec) {
  return has_open_groups(spec) || std::ranges::any_of(spec.groups, [](const GroupSpec& group) {
           return group.sequence.gpus_per_pack() > 1;
         });
}

Found free_if(bool is_there, const Scenario& scenario, std::string_view name) {
  return is_there ? with_free(scenario, name) : std::nullopt;
}

}  // namespace

const std::vector<PossibleChange>& ideal_changes() {
  static const std::vector<PossibleChange> kChanges = {
      {"exchange within packs at no cost",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return free_if(shares_packs(spec), scenario, cause_name(Cause::sequence));
       }},
      {"tensor-parallel exchange at no cost",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return free_if(base_plan(scenario, spec).tp_degree > 1, scenario, cause_name(Cause::tensor));
       }},
      {"exchange between experts at no cost",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return free_if(base_plan(scenario, spec).ep_degree > 1, scenario, cause_name(Cause::expert));
       }},
      {"transfers between pipeline stages at no cost",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return free_if(base_plan(scenario, spec).pp_degree > 1, scenario, cause_name(Cause::pipeline));
       }},
      {"gradients and weights at no cost",
       [](const Scenario& scenario, const StrategySpec&) {
         return with_free(scenario, cause_name(Cause::states));
       }},
      {"kernels are launched at no cost", free_launches},
      {"no rank waits for another",
       [](const Scenario& scenario, const StrategySpec&) {
         return free_if(!has_pipeline(scenario), scenario, kFreeWaiting);
       }},
  };
  return kChanges;
}

const std::vector<PossibleChange>& possible_changes() {
  static const std::vector<PossibleChange> kChanges = {
      {"ZeRO 0", stage(0)},
      {"ZeRO 1", stage(1)},
      {"ZeRO 2", stage(2)},
      {"ZeRO 3", stage(3)},
      {"gradients and weights travel while GPUs compute", overlapped_states},
      {"checkpointed layers recompute the inside of attention only", selective_checkpointing},
      {"optimizer states in host memory", offloaded_optimizer},
      {"packs half as long",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return of_only_group(scenario, spec, "capacity_tokens", only_capacity(spec) / 2);
       }},
      {"packs twice as long",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return of_only_group(scenario, spec, "capacity_tokens", only_capacity(spec) * 2);
       }},
      {"half as many GPUs share a pack",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return of_only_group(scenario, spec, "sp_degree", only_sp_degree(spec) / 2);
       }},
      {"twice as many GPUs share a pack",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return of_only_group(scenario, spec, "sp_degree", only_sp_degree(spec) * 2);
       }},
      {"FlashAttention 3 in place of FlashAttention 2", flash_attention_3},
      {"layers compiled by torch.compile",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return other_kernels(scenario, spec, kCompiledKernels);
       }},
      {"layers with Liger's kernels",
       [](const Scenario& scenario, const StrategySpec& spec) {
         return other_kernels(scenario, spec, kLigerKernels);
       }},
      {"a loss that is fused with the head", fused_loss},
      {"losses that the host does not read in each micro-batch (logging_nan_inf_filter: false)",
       unread_losses},
      {"one product for all experts (transformers from 5.0 on)", grouped_experts},
      {"matrix products of layers in fp8", fp8_products},
      {"GPUs with twice the memory", twice_the_memory},
      {"NVLink twice as fast", twice_the_nvlink},
      {"network cards twice as fast", twice_the_nics},
      {"the same GPUs in nodes of twice as many", twice_the_node},
  };
  return kChanges;
}

}  // namespace packsim
