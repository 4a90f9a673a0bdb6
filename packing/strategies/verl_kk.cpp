#include <algorithm>
#include <utility>

#include "packing/algorithms/balance/karmarkar_karp.hpp"
#include "packing/algorithms/batch_plan_builder.hpp"
#include "packing/algorithms/global_batches.hpp"
#include "packing/algorithms/least_packs.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

using Items = std::vector<ItemIndex>;

class Balancer {
 public:
  explicit Balancer(const PackProblem& problem)
      : problem_(problem), linear_weight_tokens_(problem.options[kLinearWeightTokens]) {}

  std::int64_t length(ItemIndex item) const { return problem_.lengths_tokens[item]; }
  std::int64_t tokens(const Items& items) const {
    std::int64_t sum = 0;
    for (const ItemIndex item : items) sum += length(item);
    return sum;
  }
  std::int64_t work(const Items& items) const {
    std::int64_t sum = 0;
    for (const ItemIndex item : items) sum += work(item);
    return sum;
  }

  std::vector<Items> balance(const Items& items, std::size_t n_parts, PartSizes sizes) const {
    return balanced_parts(items, n_parts, sizes, [&](ItemIndex item) { return work(item); });
  }

  // A micro-batch of one sample is as small as it gets, whatever the sample's length.
  bool keeps_limit(const Items& part) const {
    return part.size() <= 1 || tokens(part) <= problem_.capacity_tokens;
  }

  // verl begins with as many as the sum of tokens fills. With fewer than `least_packs` none keeps the limit.
  std::size_t least_micro_batches(const Items& items) const {
    const auto filled =
        static_cast<std::size_t>((tokens(items) + problem_.capacity_tokens - 1) / problem_.capacity_tokens);
    std::vector<std::int64_t> lengths(items.size());
    std::ranges::transform(items, lengths.begin(), [&](ItemIndex item) { return length(item); });
    return std::max(filled, least_packs(lengths, problem_.capacity_tokens));
  }

 private:
  std::int64_t work(ItemIndex item) const { return length(item) * (linear_weight_tokens_ + length(item)); }

  const PackProblem& problem_;
  std::int64_t linear_weight_tokens_;
};

// Every rank gets equally many micro-batches, the fewest that keep all of them within the limit of tokens.
std::vector<std::vector<Items>> micro_batches_of(const Balancer& balancer, const std::vector<Items>& ranks) {
  std::size_t n = 1;
  for (const Items& items : ranks) n = std::max(n, balancer.least_micro_batches(items));
  std::vector<std::vector<Items>> result(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size();) {
    if (result[rank].size() != n) result[rank] = balancer.balance(ranks[rank], n, PartSizes::any);
    if (std::ranges::all_of(result[rank], [&](const Items& part) { return balancer.keeps_limit(part); })) {
      ++rank;
    } else {
      ++n;
      rank = 0;
    }
  }
  return result;
}

// verl runs the smallest micro-batches at both ends, where a pipeline fills and drains: every second one
// backwards, then the others.
std::vector<Items> smallest_at_both_ends(const Balancer& balancer, std::vector<Items> micro_batches) {
  std::ranges::stable_sort(micro_batches, std::greater{},
                           [&](const Items& items) { return balancer.work(items); });
  std::vector<Items> result;
  for (std::size_t i = (micro_batches.size() + 1) / 2; i-- > 0;) result.push_back(micro_batches[2 * i]);
  for (std::size_t i = 1; i < micro_batches.size(); i += 2) result.push_back(micro_batches[i]);
  return result;
}

BatchPlan plan_verl_kk(const BatchProblem& problem) {
  const std::size_t n_ranks = uniform_dp_ranks(problem.setting, "verl_kk");
  const Balancer balancer(problem.items);
  BatchPlanBuilder plan(problem.setting);
  for (const Items& batch : global_batches(problem)) {
    // All ranks get equally many samples.
    auto ranks = micro_batches_of(balancer, balancer.balance(batch, n_ranks, PartSizes::equal));
    for (std::vector<Items>& rank : ranks) rank = smallest_at_both_ends(balancer, std::move(rank));
    place_on_ranks(plan, problem.setting, ranks);
    plan.end_iteration();
  }
  return std::move(plan).finish();
}

}  // namespace

extern constinit const Strategy verl_kk = {
    .name = "verl_kk",
    .summary =
        "A global batch at a time, Karmarkar-Karp over ranks with equally many samples, then over each "
        "rank's micro-batches.",
    .complexity = "O(T N (B + log N)), T numbers of micro-batches tried.",
    .source = "verl seqlen_balancing.py",
    .plan_batches = plan_verl_kk,
    .options = kBalanceOptions,
};

}  // namespace packsim::strategies_detail
