#include <algorithm>
#include <numeric>

#include "packing/algorithms/batch_plan_builder.hpp"
#include "packing/algorithms/shuffle.hpp"
#include "packing/algorithms/sort_by_length.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

// LongAlign accumulates a fixed number of groups; here so many that a step has tokens_per_iteration on
// average.
std::size_t groups_per_iteration(const BatchProblem& problem, const std::vector<ItemIndex>& items,
                                 std::size_t n_groups) {
  double tokens = 0;
  for (const ItemIndex item : items) tokens += problem.items.lengths_tokens[item];
  if (tokens == 0) return 1;
  const double n =
      static_cast<double>(problem.setting.tokens_per_iteration) * static_cast<double>(n_groups) / tokens;
  return static_cast<std::size_t>(
      std::clamp(n + 0.5, 1.0, static_cast<double>(std::max<std::size_t>(1, n_groups))));
}

BatchPlan plan_longalign_sorted(const BatchProblem& problem) {
  const std::size_t n_ranks = uniform_dp_ranks(problem.setting, "longalign_sorted");
  const auto gpus_per_pack = static_cast<std::size_t>(problem.setting.groups[0].gpus_per_pack);
  const std::vector<ItemIndex> items = shortest_first(problem.items).items;
  std::vector<std::uint32_t> groups((items.size() + n_ranks - 1) / n_ranks);
  std::iota(groups.begin(), groups.end(), 0U);
  if (problem.items.options[kShuffle]) {
    Generator generator(static_cast<std::uint32_t>(problem.items.options[kSeed]));
    shuffle(std::span(groups), generator);
  }
  const std::size_t per_iteration = groups_per_iteration(problem, items, groups.size());
  BatchPlanBuilder plan(problem.setting);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::size_t first = groups[i] * n_ranks;
    for (std::size_t rank = 0; rank < std::min(n_ranks, items.size() - first); ++rank) {
      plan.place(std::span(&items[first + rank], 1), 0, rank * gpus_per_pack, i % per_iteration);
    }
    if ((i + 1) % per_iteration == 0) plan.end_iteration();
  }
  return std::move(plan).finish();
}

}  // namespace

extern constinit const Strategy longalign_sorted = {
    .name = "longalign_sorted",
    .summary =
        "Samples of similar length train together, one on each rank; a step accumulates several such groups "
        "in shuffled order.",
    .complexity = "O(N log N)",
    .source = "LongAlign arXiv 2401.18058",
    .plan_batches = plan_longalign_sorted,
    .trains_samples_alone = true,
    .counts_samples = true,
    .options = kShuffleOptions,
};

}  // namespace packsim::strategies_detail
