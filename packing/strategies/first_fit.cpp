#include <algorithm>
#include <array>

#include "packing/algorithms/first_fit_tree.hpp"
#include "packing/algorithms/item_order.hpp"
#include "packing/algorithms/placements.hpp"
#include "packing/algorithms/sort_by_length.hpp"
#include "packing/algorithms/two_limits/fill.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

// First fit leaves any two packs with more than one capacity between them, so there are never more packs than
// twice the tokens over the capacity, plus one for an odd one out, and those that are closed with as many
// items as a pack may have.
std::size_t most_packs(const PackProblem& problem, std::uint32_t most_items) {
  std::int64_t tokens = 0;
  for (const std::int32_t length : problem.lengths_tokens) {
    if (!problem.skips(length)) tokens += std::min<std::int64_t>(length, problem.capacity_tokens);
  }
  return std::min(static_cast<std::size_t>(2 * tokens / problem.capacity_tokens) + 2 +
                      problem.lengths_tokens.size() / most_items,
                  problem.lengths_tokens.size() + 1);
}

// All packs exist from the start, empty, so the first one with room is also the next one to open.
class FirstFit {
 public:
  // most_items: of one pack.
  FirstFit(const PackProblem& problem, std::size_t n_items, std::uint32_t most_items)
      : capacity_(static_cast<std::int32_t>(problem.capacity_tokens)),
        most_items_(most_items),
        free_(most_packs(problem, most_items), capacity_),
        placements_(n_items) {}

  // `count` items of one length. Packs that had no room for one of them have none for the others.
  void place(std::int32_t length_tokens, std::uint32_t count) {
    const std::int32_t needed = std::min(length_tokens, capacity_);
    // An over-long item's own pack is a new one and takes nothing else, not even an item of no tokens.
    const bool own_pack = length_tokens > capacity_;
    std::size_t pack = own_pack ? placements_.n_packs() : 0;
    while (count > 0) {
      pack = free_.find(needed, pack);
      if (pack == placements_.n_packs()) placements_.open_pack();
      const std::int32_t room = free_.value(pack);
      const std::uint32_t n_before = placements_.n_items(static_cast<std::uint32_t>(pack));
      auto n = std::min(count, most_items_ - n_before);
      if (needed > 0) n = std::min(n, static_cast<std::uint32_t>(room / needed));
      const bool closed = own_pack || n_before + n == most_items_;
      free_.set(pack, closed ? FirstFitTree::kEmpty : room - static_cast<std::int32_t>(n) * needed);
      placements_.place(static_cast<std::uint32_t>(pack), n);
      count -= n;
    }
  }

  PackSet finish(const std::vector<ItemIndex>& items) && { return std::move(placements_).finish(items); }

 private:
  std::int32_t capacity_;
  std::uint32_t most_items_;
  FirstFitTree free_;
  Placements placements_;
};

PackSet first_fit_in_order(const PackProblem& problem, std::uint32_t most_items) {
  const std::vector<ItemIndex> order = packing_order(problem);
  FirstFit packer(problem, order.size(), most_items);
  for (const ItemIndex item : order) packer.place(problem.lengths_tokens[item], 1);
  return std::move(packer).finish(order);
}

PackSet pack_first_fit_decreasing(const PackProblem& problem) {
  const std::uint32_t most_items = most_items_of(problem.options[kMaxSamplesPerPack]);
  if (!problem.extra_sizes.empty()) return fill_two_limits(problem, most_items);
  const LengthOrder order = longest_first(problem);
  FirstFit packer(problem, order.items.size(), most_items);
  for (const LengthRun& run : order.runs) packer.place(run.length_tokens, run.count);
  return std::move(packer).finish(order.items);
}

PackSet pack_first_fit_shuffle(const PackProblem& problem) {
  return first_fit_in_order(problem, most_items_of(problem.options[kMaxSamplesPerPack]));
}

PackSet pack_nemo_ffs(const PackProblem& problem) {
  return first_fit_in_order(problem, most_items_of({}));
}

PackSet pack_axolotl_multipack(const PackProblem& problem) {
  // sample_packing_bin_size of axolotl's configuration.
  constexpr std::uint32_t kDefaultBinSize = 200;
  const auto most_items = problem.options[kMaxSamplesPerPack].value_or(kDefaultBinSize);
  return first_fit_in_order(problem, static_cast<std::uint32_t>(most_items));
}

// axolotl's sample_packing_group_size.
constexpr std::int64_t kAxolotlGroupSamples = 100'000;

}  // namespace

extern constinit const Strategy ffd = {
    .name = "ffd",
    .summary = "Longest first, into the first pack with room.",
    .complexity = "O(N log M)",
    .source = "Dosa 2007; NeMo",
    .pack = pack_first_fit_decreasing,
    .holds_two_limits = true,
    .options = kLimitOptions,
};

extern constinit const Strategy ffs = {
    .name = "ffs",
    .summary = "In shuffled order, into the first pack with room.",
    .complexity = "O(N log M)",
    .source = "NeMo first_fit_shuffle",
    .pack = pack_first_fit_shuffle,
    .options = kLimitAndShuffleOptions,
};

extern constinit const Strategy axolotl_multipack = {
    .name = "axolotl_multipack",
    .summary =
        "In shuffled order, into the first pack with room, 200 samples a pack, within every 100000 samples.",
    .complexity = "O(N log M)",
    .source = "axolotl multipack.py",
    .pack = pack_axolotl_multipack,
    .options = kLimitAndShuffleOptions,
    .default_window_samples = kAxolotlGroupSamples,
};

extern constinit const Strategy nemo_ffs = {
    .name = "nemo_ffs",
    .summary =
        "NeMo's default: ffs over the whole data set. NeMo gives over-long samples packs of their own.",
    .complexity = "O(N log M)",
    .source = "NeMo first_fit_shuffle",
    .pack = pack_nemo_ffs,
    .options = kShuffleOptions,
};

}  // namespace packsim::strategies_detail
