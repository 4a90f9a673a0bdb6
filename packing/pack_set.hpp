#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace packsim {

/// What is packed. An item is a whole sample or, where samples are cut, a piece of one. Lengths are counted
/// in tokens; they fit in 32 bits, sums of them do not and are 64 bits wide everywhere.
using ItemIndex = std::uint32_t;

/// Tokens [start_token, start_token + n_tokens) of one sample.
struct Piece {
  std::uint32_t sample_index = 0;
  std::int32_t start_token = 0;
  std::int32_t n_tokens = 0;

  bool operator==(const Piece&) const = default;
};

/// Packs in creation order, each with its items in the order in which they were placed.
struct PackSet {
  std::vector<ItemIndex> items;              ///< [n_items], pack after pack
  std::vector<std::uint32_t> offsets = {0};  ///< [n_packs + 1]: pack p is items[offsets[p]..offsets[p + 1])

  std::size_t n_packs() const { return offsets.size() - 1; }
  std::span<const ItemIndex> operator[](std::size_t pack) const {
    return {items.data() + offsets[pack], items.data() + offsets[pack + 1]};
  }
  /// Ends the pack that the items after the last offset form.
  void close_pack() { offsets.push_back(static_cast<std::uint32_t>(items.size())); }
};

}  // namespace packsim
