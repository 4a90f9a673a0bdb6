#include <algorithm>

#include "packing/algorithms/batch_plan_builder.hpp"
#include "packing/algorithms/global_batches.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

using Items = std::vector<ItemIndex>;

struct Rank {
  Items items;
  std::int64_t tokens = 0;
  std::int64_t squares = 0;
};

// The rank with the least sum of squares that has room, or the end.
auto least_loaded_with_room(std::vector<Rank>& ranks, std::int64_t length, std::int64_t capacity) {
  auto best = ranks.end();
  for (auto rank = ranks.begin(); rank != ranks.end(); ++rank) {
    if (!rank->items.empty() && rank->tokens + length > capacity) continue;
    if (best == ranks.end() || rank->squares < best->squares) best = rank;
  }
  return best;
}

// Longest first; where no rank has room for the next sample, the round is closed.
void place_batch(const BatchProblem& problem, Items batch, std::size_t n_ranks, BatchPlanBuilder& plan) {
  const auto lengths = problem.items.lengths_tokens;
  const auto gpus_per_pack = static_cast<std::size_t>(problem.setting.groups[0].gpus_per_pack);
  std::ranges::stable_sort(batch, std::greater{}, [&](ItemIndex item) { return lengths[item]; });
  std::vector<Rank> ranks(n_ranks);
  std::size_t round = 0;
  const auto close_round = [&] {
    for (std::size_t r = 0; r < n_ranks; ++r) plan.place(ranks[r].items, 0, r * gpus_per_pack, round);
    ranks.assign(n_ranks, {});
    ++round;
  };
  for (const ItemIndex item : batch) {
    const std::int64_t length = lengths[item];
    auto rank = least_loaded_with_room(ranks, length, problem.items.capacity_tokens);
    if (rank == ranks.end()) {
      close_round();
      rank = ranks.begin();
    }
    rank->items.push_back(item);
    rank->tokens += length;
    rank->squares += length * length;
  }
  close_round();
}

BatchPlan plan_trl_lpt(const BatchProblem& problem) {
  const std::size_t n_ranks = uniform_dp_ranks(problem.setting, "trl_lpt");
  BatchPlanBuilder plan(problem.setting);
  for (const Items& batch : global_batches(problem)) {
    place_batch(problem, batch, n_ranks, plan);
    plan.end_iteration();
  }
  return std::move(plan).finish();
}

}  // namespace

extern constinit const Strategy trl_lpt = {
    .name = "trl_lpt",
    .summary =
        "A global batch at a time, longest first to the rank with the "
        "least sum of squared lengths that has room.",
    .complexity = "O(N B)",
    .source = "TRL async GRPO",
    .plan_batches = plan_trl_lpt,
    .options = kGlobalBatchOptions,
};

}  // namespace packsim::strategies_detail
