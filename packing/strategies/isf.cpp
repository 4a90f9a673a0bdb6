#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "packing/algorithms/shuffle.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

// An item with its length beside it, so that walking a shuffled pool reads memory in order.
struct PoolEntry {
  ItemIndex item;
  std::int32_t length_tokens;
};

void shuffle_pool(std::vector<PoolEntry>& pool, std::uint32_t seed) {
  Generator generator(seed);
  shuffle(std::span(pool), generator);
}

// Next-fit over the pool: packs of at least `threshold_tokens`, or of as many items as there may be, go to
// `kept`, the items of the others stay in the pool, in their order.
void keep_full_packs(std::vector<PoolEntry>& pool, std::int64_t capacity_tokens,
                     std::int64_t threshold_tokens, std::size_t most_items, PackSet& kept) {
  std::size_t n_left = 0;
  std::size_t begin = 0;
  while (begin < pool.size()) {
    std::int64_t tokens = pool[begin].length_tokens;
    std::size_t end = begin + 1;
    const std::size_t last = std::min(pool.size(), begin + most_items);
    while (end < last && tokens + pool[end].length_tokens <= capacity_tokens) {
      tokens += pool[end++].length_tokens;
    }
    if (tokens >= threshold_tokens || end - begin == most_items) {
      for (std::size_t i = begin; i < end; ++i) kept.items.push_back(pool[i].item);
      kept.close_pack();
    } else {
      for (std::size_t i = begin; i < end; ++i) pool[n_left++] = pool[i];
    }
    begin = end;
  }
  pool.resize(n_left);
}

// No pack of several items goes over `limit_tokens`.
PackSet shuffle_and_filter(const PackProblem& problem, bool shuffled, std::int64_t rounds,
                           std::int64_t threshold_tokens, std::int64_t limit_tokens,
                           std::optional<std::int64_t> max_samples) {
  const std::size_t most_items = most_items_of(max_samples);
  const auto seed = static_cast<std::uint32_t>(problem.options[kSeed]);
  std::vector<PoolEntry> pool(problem.lengths_tokens.size());
  for (std::size_t i = 0; i < pool.size(); ++i) {
    pool[i] = {static_cast<ItemIndex>(i), problem.lengths_tokens[i]};
  }
  if (shuffled) shuffle_pool(pool, seed);
  // Only now, as the published code leaves over-long samples out while it walks the shuffled list.
  std::erase_if(pool, [&](const PoolEntry& entry) { return problem.skips(entry.length_tokens); });

  PackSet packs;
  packs.items.reserve(pool.size());
  for (std::int64_t round = 0; round + 1 < rounds && !pool.empty(); ++round) {
    keep_full_packs(pool, limit_tokens, threshold_tokens, most_items, packs);
    if (shuffled) shuffle_pool(pool, seed + static_cast<std::uint32_t>(round));
  }
  keep_full_packs(pool, limit_tokens, std::numeric_limits<std::int64_t>::min(), most_items, packs);
  return packs;
}

PackSet pack_isf(const PackProblem& problem) {
  // 128 tokens of slack is what OmniBal's own test uses (test_balanced_dynamic_batch.py).
  constexpr std::int64_t kDefaultSlackTokens = 128;
  const std::optional<std::int64_t> threshold = problem.options[kThresholdTokens];
  return shuffle_and_filter(problem, problem.options[kShuffle], problem.options[kRounds],
                            threshold.value_or(problem.capacity_tokens - kDefaultSlackTokens),
                            problem.capacity_tokens, problem.options[kMaxSamplesPerPack]);
}

PackSet pack_random(const PackProblem& problem) {
  return shuffle_and_filter(problem, problem.options[kShuffle], 1, 0, problem.capacity_tokens, {});
}

PackSet pack_longalign(const PackProblem& problem) {
  // sort_and_group.py adds a sample only where the sum stays below the capacity.
  return shuffle_and_filter(problem, problem.options[kShuffle], 1, 0, problem.capacity_tokens - 1, {});
}

PackSet pack_wrapped(const PackProblem& problem) {
  // The samples arrive cut where packs end, so next-fit in data set order fills every pack to the brim.
  return shuffle_and_filter(problem, false, 1, 0, problem.capacity_tokens, {});
}

constexpr std::array<const Option*, 5> kIsfOptions = {&kRounds, &kThresholdTokens, &kMaxSamplesPerPack,
                                                      &kShuffle, &kSeed};

}  // namespace

extern constinit const Strategy random = {
    .name = "random",
    .summary = "Shuffled next-fit: one open pack, closed when the next sample does not fit.",
    .complexity = "O(N)",
    .source = "OmniBal _random_groups",
    .pack = pack_random,
    .options = kShuffleOptions,
};

extern constinit const Strategy isf = {
    .name = "isf",
    .summary =
        "Shuffled next-fit; packs under the threshold are dissolved and packed again, for some rounds.",
    .complexity = "O(rounds N)",
    .source = "OmniBal arXiv 2407.20761",
    .pack = pack_isf,
    .options = kIsfOptions,
};

extern constinit const Strategy wrapped = {
    .name = "wrapped",
    .summary = "All samples end to end, cut wherever a pack is full.",
    .complexity = "O(N)",
    .source = "TRL packing_strategy wrapped",
    .pack = pack_wrapped,
    .cuts_samples = true,
};

extern constinit const Strategy longalign = {
    .name = "longalign",
    .summary = "Shuffled next-fit, every pack of several samples below the capacity.",
    .complexity = "O(N)",
    .source = "LongAlign arXiv 2401.18058",
    .pack = pack_longalign,
    .options = kShuffleOptions,
};

}  // namespace packsim::strategies_detail
