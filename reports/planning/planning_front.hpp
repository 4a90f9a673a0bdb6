#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "reports/planning/planning_data.hpp"

namespace packsim {

/// What points are compared by, beside hours: their money if all compared points have a price, else GPU-days.
enum class CostKind { money, gpu_days };

CostKind cost_of(const PlanningData& data);

/// The cost of a point; none where it has no times.
std::optional<double> cost_of(const PlanningPoint& point, CostKind cost);

/// Indices of the compared points that no other one beats: none has fewer or equal hours and cost, and fewer
/// of one. The fastest first; equal points in their order. O(n log n).
std::vector<std::size_t> pareto_front(const PlanningData& data);

/// Compared points with times: the one with the least cost, and the one with the fewest hours. The other
/// amount decides between equals, then their order. None without such points.
std::optional<std::size_t> cheapest_point(const PlanningData& data);
std::optional<std::size_t> fastest_point(const PlanningData& data);

}  // namespace packsim
