#include "experiment/search/group_options.hpp"

#include <algorithm>
#include <array>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricing/job_of.hpp"

namespace packsim {
namespace {

constexpr std::array<int, 8> kPacksOfRank = {1, 2, 3, 4, 6, 8, 12, 16};

std::int64_t round_up_to(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void add_option(const Scenario& scenario, const ParallelPlan& base, const SequenceParallelism& sequence,
                std::int64_t capacity_tokens, bool fills_iteration, std::vector<GroupOption>& options) {
  const bool is_known = std::ranges::any_of(options, [&](const GroupOption& one) {
    return one.group.sequence == sequence && one.group.capacity_tokens == capacity_tokens;
  });
  if (is_known) return;
  options.push_back(group_option(scenario, base, sequence, capacity_tokens));
  options.back().fills_iteration = fills_iteration;
}

}  // namespace

GroupOption group_option(const Scenario& scenario, const ParallelPlan& base,
                         const SequenceParallelism& sequence, std::int64_t capacity_tokens) {
  GroupOption option{.group = {.capacity_tokens = capacity_tokens, .sequence = sequence, .gc_layers = {}}};
  const int n_ranks = packed_gpus(base) / sequence.gpus_per_pack();
  const PlannedGroup full =
      plan_group(scenario, base, option.group, capacity_tokens,
                 micro_batches_that_fit(scenario.training.tokens_per_iteration, n_ranks, capacity_tokens));
  option.group.gc_layers = full.gc_layers;
  option.plan = group_plan(base, option.group, full.gc_layers);
  option.fits = full.feasible;
  return option;
}

std::vector<SequenceParallelism> sequence_options(const Scenario& scenario, const ParallelPlan& base) {
  std::vector<SequenceParallelism> options;
  for (int degree = 1; degree <= packed_gpus(base); degree *= 2) {
    for (const ParallelPlan& plan : plans_of_degree(job_of(scenario), base, degree))
      options.push_back(plan.sequence);
  }
  return options;
}

std::vector<GroupOption> group_options(const Scenario& scenario, const ParallelPlan& base,
                                       std::int64_t longest_tokens) {
  std::vector<GroupOption> options;
  for (const SequenceParallelism& sequence : sequence_options(scenario, base)) {
    const int gpus = sequence.gpus_per_pack();
    const std::int64_t rank_tokens = scenario.training.tokens_per_iteration * gpus / packed_gpus(base);
    const std::int64_t longest_pack = round_up_to(longest_tokens, gpus);
    for (const int n_packs : kPacksOfRank) {
      const std::int64_t capacity = rank_tokens / n_packs / gpus * gpus;
      if (capacity > 0) add_option(scenario, base, sequence, capacity, true, options);
    }
    add_option(scenario, base, sequence, longest_pack, false, options);
  }
  return options;
}

}  // namespace packsim
