#pragma once

#include <vector>

#include "packing/pack_set.hpp"

namespace packsim {

/// Collects "these items go into that pack" in the order in which a strategy decides it, and turns it into
/// packs: the items of each pack in the order in which they were placed.
class Placements {
 public:
  explicit Placements(std::size_t n_items) { pack_of_.reserve(n_items); }

  /// Opens the next pack and returns its index.
  std::uint32_t open_pack() {
    counts_.push_back(0);
    return static_cast<std::uint32_t>(counts_.size() - 1);
  }

  /// The next `count` items of the placement order go into `pack`.
  void place(std::uint32_t pack, std::uint32_t count = 1) {
    pack_of_.insert(pack_of_.end(), count, pack);
    counts_[pack] += count;
  }

  std::size_t n_packs() const { return counts_.size(); }
  std::uint32_t n_items(std::uint32_t pack) const { return counts_[pack]; }

  /// `items`: [n placed], the items in placement order.
  PackSet finish(const std::vector<ItemIndex>& items) && {
    PackSet packs;
    packs.offsets.resize(counts_.size() + 1);
    std::uint32_t next = 0;
    for (std::size_t pack = 0; pack < counts_.size(); ++pack) {
      packs.offsets[pack] = next;
      next += counts_[pack];
      counts_[pack] = packs.offsets[pack];
    }
    packs.offsets.back() = next;
    packs.items.resize(next);
    for (std::size_t i = 0; i < pack_of_.size(); ++i) packs.items[counts_[pack_of_[i]]++] = items[i];
    return packs;
  }

 private:
  std::vector<std::uint32_t> pack_of_;  // [n placed]
  std::vector<std::uint32_t> counts_;   // [n_packs]
};

}  // namespace packsim
