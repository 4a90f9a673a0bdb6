#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "packing/algorithms/global_batches.hpp"
#include "packing/batch_problem.hpp"
#include "packing/flexsp/global_batch.hpp"
#include "packing/flexsp/options.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim {
namespace {

using flexsp::Cluster;

[[noreturn]] void refuse_flexsp(const std::string& what) {
  throw std::invalid_argument("flexsp: " + what);
}

flexsp::SequenceCost cost_of(const BatchGroup& group, std::string_view costs) {
  if (costs == flexsp::kProfileCosts) {
    if (group.cost.tokens_s.tokens.empty()) refuse_flexsp("costs \"profile\" need groups that are priced");
    return flexsp::profile_cost(group.cost, group.capacity_tokens);
  }
  const auto model = std::ranges::find(flexsp::kPublishedModels, costs, &flexsp::PublishedModel::name);
  if (model == flexsp::kPublishedModels.end()) refuse_flexsp("unknown costs \"" + std::string(costs) + "\"");
  return flexsp::published_cost(*model, group.gpus_per_pack);
}

// The groups that may be formed, and which of the setting's each is.
struct AllowedGroups {
  Cluster cluster;
  std::vector<std::size_t> group_of_kind;
};

AllowedGroups allowed_groups(const BatchSetting& setting, const OptionValues& options) {
  const std::int64_t min_sp = options[flexsp::kMinSp];
  AllowedGroups allowed;
  allowed.cluster.n_gpus = setting.n_gpus;
  for (std::size_t g = 0; g < setting.groups.size(); ++g) {
    const BatchGroup& group = setting.groups[g];
    if (group.gpus_per_pack < min_sp) continue;
    allowed.cluster.kinds.push_back(
        {group.gpus_per_pack, group.capacity_tokens, cost_of(group, options[flexsp::kCosts])});
    allowed.group_of_kind.push_back(g);
  }
  if (allowed.cluster.kinds.empty()) {
    refuse_flexsp("no group has min_sp = " + std::to_string(min_sp) + " GPUs");
  }
  return allowed;
}

void append(const flexsp::BatchSolution& batch, std::span<const std::size_t> group_of_kind, BatchPlan& plan) {
  Iteration iteration{.first_placed = static_cast<std::uint32_t>(plan.placed.size()), .n_placed = 0};
  for (std::size_t round = 0; round < batch.micro_batches.size(); ++round) {
    for (const flexsp::PlacedGroup& placed : batch.micro_batches[round]) {
      const std::size_t group = group_of_kind[placed.kind];
      PackSet& packs = plan.groups[group];
      plan.placed.push_back({.pack = static_cast<std::uint32_t>(packs.n_packs()),
                             .first_gpu = static_cast<std::uint32_t>(placed.first_gpu),
                             .group = static_cast<std::uint16_t>(group),
                             .round = static_cast<std::uint16_t>(round),
                             .after_barrier = round > 0});
      packs.items.insert(packs.items.end(), placed.items.begin(), placed.items.end());
      packs.close_pack();
      ++iteration.n_placed;
    }
  }
  plan.iterations.push_back(iteration);
}

BatchPlan plan_flexsp(const BatchProblem& problem) {
  using namespace packsim::flexsp;
  const OptionValues& options = problem.items.options;
  if (problem.setting.solver == nullptr) refuse_flexsp("the setting has no solver for its integer programs");
  const AllowedGroups allowed = allowed_groups(problem.setting, options);
  packsim::flexsp::BatchOptions batch_options{
      .n_buckets = static_cast<std::size_t>(options[kBuckets]),
      .micro_batch_tries = static_cast<std::size_t>(options[kMicroBatchTries]),
      .seed = static_cast<std::uint32_t>(options[kSeed]),
      .minimize_gpu_time = options[kMinimizeGpuTime],
      .limits = {.time_s = options[kSolveTimeLimitS], .n_nodes = options[kSolveNodes]}};
  BatchPlan plan;
  plan.groups.resize(problem.setting.groups.size());
  for (const std::vector<ItemIndex>& batch : global_batches(problem)) {
    problem.setting.solver->next_batch();
    append(plan_global_batch(problem.items.lengths_tokens, batch, allowed.cluster, batch_options,
                             *problem.setting.solver),
           allowed.group_of_kind, plan);
    ++batch_options.seed;  // every batch draws for itself
  }
  return plan;
}

}  // namespace

namespace strategies_detail {

extern constinit const Strategy flexsp = {
    .name = "flexsp",
    .summary =
        "Groups of different SP degree side by side, an integer "
        "program for each micro-batch of a global batch.",
    .complexity = "An integer program a micro-batch",
    .source = "FlexSP arXiv 2412.01523",
    .plan_batches = plan_flexsp,
    .options = packsim::flexsp::kOptions,
    .default_order = PackOrder::as_packed,
    .mixes_groups = true,
    .needs_prices = true,
};

}  // namespace strategies_detail
}  // namespace packsim
