#include "reports/planning/planning_front.hpp"

#include <algorithm>
#include <tuple>

namespace packsim {
namespace {

struct PlacedPoint {
  double hours = 0;
  double cost = 0;
  std::size_t index = 0;
};

std::vector<PlacedPoint> placed_points(const PlanningData& data) {
  const CostKind kind = cost_of(data);
  std::vector<PlacedPoint> placed;
  for (std::size_t i = 0; i < data.points.size(); ++i) {
    const PlanningPoint& point = data.points[i];
    const std::optional<double> cost = cost_of(point, kind);
    if (point.standing == PointStanding::compared && point.hours && cost && keeps_to(data.limits, point))
      placed.push_back({point.hours->value, *cost, i});
  }
  return placed;
}

bool is_within(const std::optional<double>& most, const std::optional<PlanningAmount>& amount) {
  return !most || !amount || amount->high.value_or(amount->value) <= *most;
}

template <typename Key>
std::optional<std::size_t> least(const PlanningData& data, const Key& key) {
  const std::vector<PlacedPoint> placed = placed_points(data);
  const auto found = std::ranges::min_element(placed, {}, key);
  return found == placed.end() ? std::nullopt : std::optional(found->index);
}

}  // namespace

CostKind cost_of(const PlanningData& data) {
  bool has_any = false;
  for (const PlanningPoint& point : data.points) {
    if (point.standing != PointStanding::compared || !point.gpu_days) continue;
    if (!point.money) return CostKind::gpu_days;
    has_any = true;
  }
  return has_any ? CostKind::money : CostKind::gpu_days;
}

std::optional<double> cost_of(const PlanningPoint& point, CostKind cost) {
  const auto& amount = cost == CostKind::money ? point.money : point.gpu_days;
  return amount ? std::optional(amount->value) : std::nullopt;
}

bool keeps_to(const PlanningLimits& limits, const PlanningPoint& point) {
  return is_within(limits.hours, point.hours) && is_within(limits.money, point.money) &&
         (!limits.n_gpus || !point.n_gpus || *point.n_gpus <= *limits.n_gpus);
}

std::optional<std::size_t> cheapest_point(const PlanningData& data) {
  return least(data,
               [](const PlacedPoint& point) { return std::tuple(point.cost, point.hours, point.index); });
}

std::optional<std::size_t> fastest_point(const PlanningData& data) {
  return least(data,
               [](const PlacedPoint& point) { return std::tuple(point.hours, point.cost, point.index); });
}

}  // namespace packsim
