#include "packing/planner/indexed_curve.hpp"

#include <algorithm>
#include <bit>

namespace packsim {

IndexedCurve::IndexedCurve(const CostCurve& curve) : curve_(curve) {
  for (std::uint32_t point = 0; point < curve.tokens.size(); ++point) {
    const std::size_t own = bucket(curve.tokens[point]);
    while (first_points_.size() <= own) first_points_.push_back(point);
  }
}

// Up to 31, every number has a bucket of its own. Above, a bucket has the numbers with the same five highest
// bits.
std::size_t IndexedCurve::bucket(std::int64_t tokens) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(tokens, 0));
  const int shift = std::max(static_cast<int>(std::bit_width(value)) - 5, 0);
  return (static_cast<std::size_t>(shift) << 4U) + static_cast<std::size_t>(value >> shift);
}

double IndexedCurve::at(std::int64_t tokens_at) const {
  const std::size_t n_points = curve_.tokens.size();
  const std::size_t own = bucket(tokens_at);
  std::size_t above = own < first_points_.size() ? first_points_[own] : n_points;
  while (above < n_points && curve_.tokens[above] < tokens_at) ++above;
  return curve_.between(above, tokens_at);
}

}  // namespace packsim
