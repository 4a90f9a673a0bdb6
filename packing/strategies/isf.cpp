#include <algorithm>
#include <array>
#include <cmath>
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

// A limit beside tokens. Its sizes are looked up item by item, as few runs have one.
struct ExtraLimit {
  std::span<const std::int32_t> sizes;
  std::int64_t capacity = 0;
  std::int64_t threshold = 0;  // of which a pack is full

  std::int64_t size(const PoolEntry& entry) const { return sizes[entry.item]; }
};

struct NoExtraLimit {
  static constexpr std::int64_t capacity = 0;
  static constexpr std::int64_t threshold = 1;

  static std::int64_t size(const PoolEntry&) { return 0; }
};

// Next-fit over the pool: packs of at least `threshold_tokens`, or of as many items as there may be or of as
// much of the second limit, go to `kept`, the items of the others stay in the pool, in their order.
template <typename Extra>
void keep_full_packs(std::vector<PoolEntry>& pool, const Extra& extra, std::int64_t capacity_tokens,
                     std::int64_t threshold_tokens, std::size_t most_items, PackSet& kept) {
  std::size_t n_left = 0;
  std::size_t begin = 0;
  while (begin < pool.size()) {
    std::int64_t tokens = pool[begin].length_tokens;
    std::int64_t sizes = extra.size(pool[begin]);
    std::size_t end = begin + 1;
    const std::size_t last = std::min(pool.size(), begin + most_items);
    while (end < last && tokens + pool[end].length_tokens <= capacity_tokens &&
           sizes + extra.size(pool[end]) <= extra.capacity) {
      sizes += extra.size(pool[end]);
      tokens += pool[end++].length_tokens;
    }
    if (tokens >= threshold_tokens || sizes >= extra.threshold || end - begin == most_items) {
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
template <typename Extra = NoExtraLimit>
PackSet shuffle_and_filter(const PackProblem& problem, bool shuffled, std::int64_t rounds,
                           std::int64_t threshold_tokens, std::int64_t limit_tokens,
                           std::optional<std::int64_t> max_samples, const Extra& extra = {}) {
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
    keep_full_packs(pool, extra, limit_tokens, threshold_tokens, most_items, packs);
    if (shuffled) shuffle_pool(pool, seed + static_cast<std::uint32_t>(round));
  }
  keep_full_packs(pool, extra, limit_tokens, std::numeric_limits<std::int64_t>::min(), most_items, packs);
  return packs;
}

// A pack that is full of extra sizes takes no image more, so it is kept at the same share of either limit.
ExtraLimit extra_limit(const PackProblem& problem, std::int64_t threshold_tokens) {
  const double share = static_cast<double>(threshold_tokens) / static_cast<double>(problem.capacity_tokens);
  const double threshold = std::ceil(share * problem.extra_capacity);
  return {.sizes = problem.extra_sizes,
          .capacity = problem.extra_capacity,
          .threshold = std::max<std::int64_t>(1, static_cast<std::int64_t>(threshold))};
}

PackSet pack_isf(const PackProblem& problem) {
  // 128 tokens of slack is what OmniBal's own test uses (test_balanced_dynamic_batch.py).
  constexpr std::int64_t kDefaultSlackTokens = 128;
  const std::int64_t threshold =
      problem.options[kThresholdTokens].value_or(problem.capacity_tokens - kDefaultSlackTokens);
  const auto pack_with = [&](const auto& extra) {
    return shuffle_and_filter(problem, problem.options[kShuffle], problem.options[kRounds], threshold,
                              problem.capacity_tokens, problem.options[kMaxSamplesPerPack], extra);
  };
  if (problem.extra_sizes.empty()) return pack_with(NoExtraLimit{});
  return pack_with(extra_limit(problem, threshold));
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
    .holds_two_limits = true,
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
