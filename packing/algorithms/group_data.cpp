#include "packing/algorithms/group_data.hpp"

#include <algorithm>

#include "packing/algorithms/first_fit_tree.hpp"

namespace packsim {
namespace {

// The items of one group that greedy fill may still take. The tree holds lengths with the sign turned: "the
// first value of at least -room" is the first sample of at most `room` tokens.
class FillSource {
 public:
  FillSource(std::span<const std::int32_t> lengths_tokens, std::vector<ItemIndex>& items)
      : items_(items), tree_(negative_lengths(lengths_tokens, items)) {}

  // Moves items that fit to the back of `taken`, first fit in data set order; returns the room left.
  std::int64_t fill(std::int64_t room, std::vector<ItemIndex>& taken) {
    // Room only shrinks, so what did not fit once never will: one pass from front to back.
    for (std::size_t slot = 0; room > 0; ++slot) {
      slot = tree_.find(static_cast<std::int32_t>(-room), slot);
      if (slot == FirstFitTree::kNone) break;
      room += tree_.value(slot);
      tree_.set(slot, FirstFitTree::kEmpty);
      taken.push_back(items_[slot]);
    }
    return room;
  }

  void erase_taken() {
    std::size_t kept = 0;
    for (std::size_t slot = 0; slot < items_.size(); ++slot) {
      if (tree_.value(slot) != FirstFitTree::kEmpty) items_[kept++] = items_[slot];
    }
    items_.resize(kept);
  }

 private:
  static std::vector<std::int32_t> negative_lengths(std::span<const std::int32_t> lengths_tokens,
                                                    const std::vector<ItemIndex>& items) {
    std::vector<std::int32_t> values(items.size());
    std::ranges::transform(items, values.begin(), [&](ItemIndex item) { return -lengths_tokens[item]; });
    return values;
  }

  std::vector<ItemIndex>& items_;
  FirstFitTree tree_;
};

}  // namespace

std::vector<std::vector<ItemIndex>> group_data(const PackProblem& problem,
                                               std::span<const std::int64_t> capacities_tokens) {
  std::vector<std::vector<ItemIndex>> groups(capacities_tokens.size());
  for (std::size_t item = 0; item < problem.lengths_tokens.size(); ++item) {
    const std::int32_t length = problem.lengths_tokens[item];
    if (problem.skips(length)) continue;
    std::size_t group = 0;
    while (group + 1 < groups.size() && length > capacities_tokens[group]) ++group;
    groups[group].push_back(static_cast<ItemIndex>(item));
  }
  return groups;
}

void greedy_fill(std::span<const std::int32_t> lengths_tokens, std::int64_t capacity_tokens, PackSet& packs,
                 std::span<std::vector<ItemIndex>*> smaller) {
  std::vector<FillSource> sources;
  for (std::vector<ItemIndex>* group : smaller) sources.emplace_back(lengths_tokens, *group);

  PackSet filled;
  filled.items.reserve(packs.items.size());
  filled.offsets.reserve(packs.offsets.size());
  for (std::size_t pack = 0; pack < packs.n_packs(); ++pack) {
    std::int64_t room = capacity_tokens;
    for (const ItemIndex item : packs[pack]) {
      filled.items.push_back(item);
      room -= lengths_tokens[item];
    }
    for (FillSource& source : sources) room = source.fill(room, filled.items);
    filled.close_pack();
  }
  packs = std::move(filled);
  for (FillSource& source : sources) source.erase_taken();
}

}  // namespace packsim
