#pragma once

#include <cstdint>
#include <vector>

#include "packing/pack_cost.hpp"

namespace packsim {

/// A cost curve that finds its points without a binary search: the first point of each sixteenth of an octave
/// of tokens is known.
class IndexedCurve {
 public:
  /// curve: kept by reference.
  explicit IndexedCurve(const CostCurve& curve);

  /// The same as CostCurve::at().
  double at(std::int64_t tokens_at) const;

 private:
  static std::size_t bucket(std::int64_t tokens);

  const CostCurve& curve_;
  std::vector<std::uint32_t> first_points_;  // by bucket: the first point of this bucket or a later one
};

}  // namespace packsim
