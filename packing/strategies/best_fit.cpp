#include <algorithm>

#include "packing/algorithms/free_space_index.hpp"
#include "packing/algorithms/item_order.hpp"
#include "packing/algorithms/placements.hpp"
#include "packing/algorithms/sort_by_length.hpp"
#include "packing/algorithms/two_limits/best_fit.hpp"
#include "packing/algorithms/two_limits/fill.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

class BestFit {
 public:
  // most_items: of one pack.
  BestFit(const PackProblem& problem, std::size_t n_items, std::uint32_t most_items)
      : capacity_(problem.capacity_tokens),
        most_items_(most_items),
        keep_empty_(problem.keep_empty),
        free_(problem.capacity_tokens),
        placements_(n_items) {}

  // `count` items of one length. A pack that was the best fit for one of them stays the best fit for the next
  // for as long as it has room: whatever had less room was too small already.
  void place(std::int32_t length_tokens, std::uint32_t count) {
    const std::int64_t needed = std::min<std::int64_t>(length_tokens, capacity_);
    const bool own_pack = length_tokens > capacity_;  // an over-long item's, which takes nothing else
    while (count > 0) {
      std::int64_t room = own_pack ? IntegerSet::kNone : free_.best_fit(needed);
      std::uint32_t pack = 0;
      if (room == IntegerSet::kNone) {
        pack = placements_.open_pack();
        room = capacity_;
      } else {
        pack = free_.pop(room);
      }
      const std::uint32_t places = most_items_ - placements_.n_items(pack);
      auto n = std::min(count, places);
      if (needed > 0) n = static_cast<std::uint32_t>(std::min<std::int64_t>(n, room / needed));
      room -= n * needed;
      // A full pack still has room for items of no tokens.
      if (n < places && (room > 0 || (keep_empty_ && !own_pack))) free_.insert(pack, room);
      placements_.place(pack, n);
      count -= n;
    }
  }

  PackSet finish(const std::vector<ItemIndex>& items) && { return std::move(placements_).finish(items); }

 private:
  std::int64_t capacity_;
  std::uint32_t most_items_;
  bool keep_empty_;
  FreeSpaceIndex free_;
  Placements placements_;
};

PackSet best_fit_decreasing(const PackProblem& problem, std::uint32_t most_items) {
  const LengthOrder order = longest_first(problem);
  BestFit packer(problem, order.items.size(), most_items);
  for (const LengthRun& run : order.runs) packer.place(run.length_tokens, run.count);
  return std::move(packer).finish(order.items);
}

PackSet pack_best_fit_decreasing(const PackProblem& problem) {
  const std::uint32_t most_items = most_items_of(problem.options[kMaxSamplesPerPack]);
  if (!problem.extra_sizes.empty()) return fewest_packs_of_two_limits(problem, most_items);
  return best_fit_decreasing(problem, most_items);
}

PackSet pack_trl_bfd(const PackProblem& problem) {
  return best_fit_decreasing(problem, most_items_of({}));
}

PackSet pack_best_fit_shuffle(const PackProblem& problem) {
  const std::vector<ItemIndex> order = packing_order(problem);
  const std::uint32_t most_items = most_items_of(problem.options[kMaxSamplesPerPack]);
  if (!problem.extra_sizes.empty()) {
    TwoLimitBestFit packer(problem, order.size(), most_items);
    for (const ItemIndex item : order) packer.place(item);
    return std::move(packer).finish(order);
  }
  BestFit packer(problem, order.size(), most_items);
  for (const ItemIndex item : order) packer.place(problem.lengths_tokens[item], 1);
  return std::move(packer).finish(order);
}

// TRL packs what a batch of datasets.map holds, which it leaves at this size.
constexpr std::int64_t kMapBatchRows = 1000;

}  // namespace

extern constinit const Strategy bfd = {
    .name = "bfd",
    .summary = "Longest first, into the pack with the least room that is enough.",
    .complexity = "O(N)",
    .source = "TRL packing_strategy bfd",
    .pack = pack_best_fit_decreasing,
    .holds_two_limits = true,
    .options = kLimitOptions,
};

extern constinit const Strategy bfs = {
    .name = "bfs",
    .summary = "In shuffled order, into the pack with the least room that is enough.",
    .complexity = "O(N)",
    .source = "HBP arXiv 2503.07680 table 13",
    .pack = pack_best_fit_shuffle,
    .holds_two_limits = true,
    .options = kLimitAndShuffleOptions,
};

extern constinit const Strategy trl_bfd = {
    .name = "trl_bfd",
    .summary = "TRL's default: bfd within every 1000 samples. TRL cuts over-long ones short.",
    .complexity = "O(N)",
    .source = "TRL packing_strategy bfd",
    .pack = pack_trl_bfd,
    .default_window_samples = kMapBatchRows,
};

}  // namespace packsim::strategies_detail
