// prime-rl's trainer (src/prime_rl/trainer/batch.py, 559b447).

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "packing/algorithms/balance/karmarkar_karp.hpp"
#include "packing/algorithms/balance/sample_work.hpp"
#include "packing/algorithms/balance/split_packs.hpp"
#include "packing/algorithms/batch_plan_builder.hpp"
#include "packing/algorithms/global_batches.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

using Items = std::vector<ItemIndex>;

// Packs of the batch by ffd.
std::vector<Items> packs_of(const PackProblem& problem, const Items& batch) {
  std::vector<std::int32_t> lengths_tokens;
  for (const ItemIndex item : batch) lengths_tokens.push_back(problem.lengths_tokens[item]);
  PackProblem part = problem;
  part.lengths_tokens = lengths_tokens;
  part.options = {};
  const PackSet set = find_strategy("ffd")->pack(part);
  std::vector<Items> packs(set.n_packs());
  for (std::size_t p = 0; p < packs.size(); ++p) {
    for (const ItemIndex item : set[p]) packs[p].push_back(batch[item]);
  }
  return packs;
}

// Swaps packs of two ranks, those that best even out the ranks, until no swap does: the least load of the
// rank with the most, then the least difference between the ranks with the most and the least.
class Swaps {
 public:
  Swaps(std::vector<std::vector<std::uint32_t>> ranks, std::span<const std::int64_t> work)
      : ranks_(std::move(ranks)), work_(work) {
    for (const std::vector<std::uint32_t>& rank : ranks_) {
      std::int64_t load = 0;
      for (const std::uint32_t pack : rank) load += work_[pack];
      loads_.push_back(load);
    }
  }

  std::vector<std::vector<std::uint32_t>> run() && {
    while (swap_once()) {
    }
    return std::move(ranks_);
  }

 private:
  struct Spread {
    std::int64_t most = 0;
    std::int64_t between = 0;
    auto operator<=>(const Spread&) const = default;
  };

  // Only swaps with the rank that has the most, or the least, can help.
  bool swap_once() {
    const auto [least, most] = std::ranges::minmax_element(loads_);
    const auto ends = std::pair(least - loads_.begin(), most - loads_.begin());
    Spread best = {*most, *most - *least};
    const std::int64_t n_ranks = std::ssize(ranks_);
    std::array<std::size_t, 4> swap = {};
    bool is_found = false;
    for (std::int64_t a = 0; a < n_ranks; ++a) {
      for (std::int64_t b = a + 1; b < n_ranks; ++b) {
        if (a != ends.first && a != ends.second && b != ends.first && b != ends.second) continue;
        is_found =
            find_between(static_cast<std::size_t>(a), static_cast<std::size_t>(b), best, swap) || is_found;
      }
    }
    if (!is_found) return false;
    const auto [a, b, i, j] = swap;
    const std::int64_t moved = work_[ranks_[a][i]] - work_[ranks_[b][j]];
    loads_[a] -= moved;
    loads_[b] += moved;
    std::swap(ranks_[a][i], ranks_[b][j]);
    return true;
  }

  bool find_between(std::size_t a, std::size_t b, Spread& best, std::array<std::size_t, 4>& swap) const {
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t rank = 0; rank < loads_.size(); ++rank) {
      if (rank == a || rank == b) continue;
      most = std::max(most, loads_[rank]);
      least = std::min(least, loads_[rank]);
    }
    bool is_found = false;
    for (std::size_t i = 0; i < ranks_[a].size(); ++i) {
      for (std::size_t j = 0; j < ranks_[b].size(); ++j) {
        const std::int64_t moved = work_[ranks_[a][i]] - work_[ranks_[b][j]];
        const std::int64_t load_a = loads_[a] - moved;
        const std::int64_t load_b = loads_[b] + moved;
        const std::int64_t new_most = std::max({most, load_a, load_b});
        const Spread spread = {new_most, new_most - std::min({least, load_a, load_b})};
        if (spread >= best) continue;
        best = spread;
        swap = {a, b, i, j};
        is_found = true;
      }
    }
    return is_found;
  }

  std::vector<std::vector<std::uint32_t>> ranks_;
  std::span<const std::int64_t> work_;
  std::vector<std::int64_t> loads_;
};

BatchPlan plan_prime_rl(const BatchProblem& problem) {
  const std::size_t n_ranks = uniform_dp_ranks(problem.setting, "prime_rl");
  const SampleWork work(problem);
  BatchPlanBuilder plan(problem.setting);
  for (const Items& batch : global_batches(problem)) {
    std::vector<Items> packs = packs_of(problem.items, batch);
    split_to_multiple(packs, n_ranks, [&](ItemIndex item) { return work.of(item); });
    std::vector<std::int64_t> values;
    for (const Items& pack : packs) values.push_back(work.of(pack));
    std::vector<std::vector<Items>> ranks;
    for (const auto& rank : Swaps(karmarkar_karp(values, n_ranks, PartSizes::equal), values).run()) {
      std::vector<Items>& own = ranks.emplace_back();
      for (const std::uint32_t pack : rank) own.push_back(packs[pack]);
    }
    place_on_ranks(plan, problem.setting, ranks);
    plan.end_iteration();
  }
  return std::move(plan).finish();
}

}  // namespace

extern constinit const Strategy prime_rl = {
    .name = "prime_rl",
    .summary =
        "A global batch at a time, first fit by descending length, then Karmarkar-Karp of the packs over "
        "ranks "
        "with equally many, and swaps between ranks.",
    .complexity = "O(N P + S R^2 M^2), P packs, S swaps, R ranks with M packs.",
    .source = "prime-rl batch.py",
    .plan_batches = plan_prime_rl,
    .options = kBalanceOptions,
};

}  // namespace packsim::strategies_detail
