#pragma once

#include <cstddef>
#include <optional>

#include "reports/planning/planning_data.hpp"

namespace packsim {

/// What points are compared by, beside hours: their money if all compared points have a price, else GPU-days.
enum class CostKind { money, gpu_days };

CostKind cost_of(const PlanningData& data);

/// The cost of a point; none where it has no times.
std::optional<double> cost_of(const PlanningPoint& point, CostKind cost);

/// Whether a point with times keeps to the limits.
bool keeps_to(const PlanningLimits& limits, const PlanningPoint& point);

/// Compared points with times that keep to the page's limits: the one with the least cost, and the one with
/// the fewest hours. The other amount decides between equals, then their order. None without such points.
std::optional<std::size_t> cheapest_point(const PlanningData& data);
std::optional<std::size_t> fastest_point(const PlanningData& data);

}  // namespace packsim
