#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace packsim {

/// A set of integers in [0, capacity] that answers "the smallest member of at least x" and "the largest
/// member of at most x" in a few word operations: a 64-way tree of bitmaps.
class IntegerSet {
 public:
  static constexpr std::int64_t kNone = -1;

  explicit IntegerSet(std::int64_t capacity);

  void insert(std::int64_t value);
  void erase(std::int64_t value);
  bool contains(std::int64_t value) const;
  std::int64_t smallest_at_least(std::int64_t value) const;
  std::int64_t largest_at_most(std::int64_t value) const;

 private:
  std::int64_t capacity_;
  std::vector<std::vector<std::uint64_t>> levels_;  // [0] one bit a value; above, one bit a non-zero word
};

/// Open packs by free space. Among packs of equal free space the one that came to it first leaves it first.
class FreeSpaceIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit FreeSpaceIndex(std::int64_t capacity_tokens);

  void insert(std::uint32_t pack, std::int64_t free_tokens);

  /// The least free space of at least `wanted_tokens` that an open pack has, or IntegerSet::kNone.
  std::int64_t best_fit(std::int64_t wanted_tokens) const { return spaces_.smallest_at_least(wanted_tokens); }

  /// Takes out the pack that has had this free space for longest.
  std::uint32_t pop(std::int64_t free_tokens);

 private:
  IntegerSet spaces_;
  // [capacity + 1]: queue of packs by free space. Not cleared, which would take O(capacity) in every window
  // of samples; spaces_ says which queues exist.
  std::unique_ptr<std::uint32_t[]> head_, tail_;
  std::vector<std::uint32_t> next_;  // [n_packs]
};

}  // namespace packsim
