#include "packing/algorithms/batch_plan_builder.hpp"
#include "packing/algorithms/global_batches.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

using Items = std::vector<ItemIndex>;

std::vector<Items> next_fit(const PackProblem& problem, const Items& batch) {
  std::vector<Items> packs;
  std::int64_t tokens = 0;
  for (const ItemIndex item : batch) {
    const std::int64_t length = problem.lengths_tokens[item];
    if (packs.empty() || tokens + length > problem.capacity_tokens) {
      packs.emplace_back();
      tokens = 0;
    }
    packs.back().push_back(item);
    tokens += length;
  }
  return packs;
}

// The last samples of the last packs become packs of their own, until the packs make whole rounds or every
// pack has one sample.
void make_whole_rounds(std::vector<Items>& packs, std::size_t n_ranks) {
  for (std::size_t pack = packs.size(); pack-- > 0;) {
    while (packs.size() % n_ranks != 0 && packs[pack].size() > 1) {
      const ItemIndex last = packs[pack].back();
      packs[pack].pop_back();
      packs.push_back({last});
    }
  }
}

BatchPlan plan_megatron_dp_balanced(const BatchProblem& problem) {
  const std::size_t n_ranks = uniform_dp_ranks(problem.setting, "megatron_dp_balanced");
  BatchPlanBuilder plan(problem.setting);
  for (const Items& batch : global_batches(problem)) {
    std::vector<Items> packs = next_fit(problem.items, batch);
    make_whole_rounds(packs, n_ranks);
    place_in_turn(plan, problem.setting, n_ranks, packs);
    plan.end_iteration();
  }
  return std::move(plan).finish();
}

}  // namespace

extern constinit const Strategy megatron_dp_balanced = {
    .name = "megatron_dp_balanced",
    .summary = "A global batch at a time, next-fit; last samples become packs until every rank has as many.",
    .complexity = "O(N)",
    .source = "Megatron-LM data_schedule.py",
    .plan_batches = plan_megatron_dp_balanced,
    .options = kGlobalBatchOptions,
};

}  // namespace packsim::strategies_detail
