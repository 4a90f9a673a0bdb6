// slime's --balance-by-flops (slime/utils/dp_schedule.py, 624b824; miles, 31f1ca9, has the same).

#include <algorithm>

#include "packing/algorithms/balance/karmarkar_karp.hpp"
#include "packing/algorithms/balance/sample_work.hpp"
#include "packing/algorithms/balance/split_packs.hpp"
#include "packing/algorithms/batch_plan_builder.hpp"
#include "packing/algorithms/global_batches.hpp"
#include "packing/algorithms/least_packs.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

using Items = std::vector<ItemIndex>;

std::int64_t tokens_of(const PackProblem& problem, const Items& items) {
  std::int64_t sum = 0;
  for (const ItemIndex item : items) sum += problem.lengths_tokens[item];
  return sum;
}

// As few micro-batches of equal work as keep the limit of tokens once they are as many on each rank. slime
// takes as many as the sum of tokens fills, and does not look whether they keep it.
std::vector<Items> micro_batches_of(const PackProblem& problem, const Items& batch, std::size_t n_ranks,
                                    const SampleWork& work) {
  const auto length = [&](ItemIndex item) { return std::int64_t{problem.lengths_tokens[item]}; };
  const auto filled = static_cast<std::size_t>((tokens_of(problem, batch) + problem.capacity_tokens - 1) /
                                               problem.capacity_tokens);
  std::vector<std::int64_t> lengths(batch.size());
  std::ranges::transform(batch, lengths.begin(), length);
  const std::size_t least = least_packs(lengths, problem.capacity_tokens);
  for (std::size_t n = std::max<std::size_t>(1, filled);; ++n) {
    const std::size_t n_split = (n + n_ranks - 1) / n_ranks * n_ranks;
    if (n_split < least && n < batch.size()) continue;
    std::vector<Items> parts = balanced_parts(batch, std::min(n, batch.size()), PartSizes::any,
                                              [&](ItemIndex item) { return work.of(item); });
    split_to_multiple(parts, n_ranks, length);
    const bool keeps_limit = std::ranges::all_of(parts, [&](const Items& part) {
      return part.size() <= 1 || tokens_of(problem, part) <= problem.capacity_tokens;
    });
    if (keeps_limit || n >= batch.size()) return parts;
  }
}

BatchPlan plan_slime_kk(const BatchProblem& problem) {
  const std::size_t n_ranks = uniform_dp_ranks(problem.setting, "slime_kk");
  const SampleWork work(problem);
  BatchPlanBuilder plan(problem.setting);
  for (const Items& batch : global_batches(problem)) {
    const std::vector<Items> micro_batches = micro_batches_of(problem.items, batch, n_ranks, work);
    std::vector<std::int64_t> values;
    for (const Items& items : micro_batches) values.push_back(work.of(items));
    std::vector<std::vector<Items>> ranks;
    for (const std::vector<std::uint32_t>& rank : karmarkar_karp(values, n_ranks, PartSizes::equal)) {
      std::vector<Items>& own = ranks.emplace_back();
      for (const std::uint32_t i : rank) own.push_back(micro_batches[i]);
    }
    place_on_ranks(plan, problem.setting, ranks);
    plan.end_iteration();
  }
  return std::move(plan).finish();
}

}  // namespace

extern constinit const Strategy slime_kk = {
    .name = "slime_kk",
    .summary =
        "A global batch at a time, Karmarkar-Karp into micro-batches of equal work, then of these over ranks "
        "with equally many.",
    .complexity = "O(T N (B + log N)), T numbers of micro-batches tried.",
    .source = "slime, miles dp_schedule.py",
    .plan_batches = plan_slime_kk,
    .options = kBalanceOptions,
};

}  // namespace packsim::strategies_detail
