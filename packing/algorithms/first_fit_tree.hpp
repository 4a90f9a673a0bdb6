#pragma once

#include <cstdint>
#include <vector>

namespace packsim {

/// "Which is the first slot with a value of at least x?" in O(log n), slots in a row, values >= 0.
///
/// A tree of maxima with sixteen children a node: one level is one cache line, and comparing a line needs no
/// branch. First fit asks it for the first pack with room; greedy fill asks it, with the sign turned, for the
/// first sample that is short enough.
class FirstFitTree {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  explicit FirstFitTree(std::size_t n_slots, std::int32_t value = kEmpty);

  /// Builds from given values in linear time.
  explicit FirstFitTree(std::vector<std::int32_t> values);

  std::size_t size() const { return n_slots_; }
  std::int32_t value(std::size_t slot) const { return levels_[0][slot]; }
  /// The largest value of all slots; kEmpty if there is none.
  std::int32_t largest() const { return levels_.back()[0]; }

  void set(std::size_t slot, std::int32_t value);

  /// The first slot at or after `from` whose value is at least `wanted`, or kNone.
  std::size_t find(std::int32_t wanted, std::size_t from = 0) const;

  /// Marks a slot that never fits.
  static constexpr std::int32_t kEmpty = INT32_MIN;

 private:
  static constexpr std::size_t kFanOut = 16;

  void build_upper_levels();

  std::size_t n_slots_ = 0;
  std::vector<std::vector<std::int32_t>> levels_;  // [0] the slots, then maxima; each a multiple of kFanOut
};

}  // namespace packsim
