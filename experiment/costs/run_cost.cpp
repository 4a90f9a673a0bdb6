#include "experiment/costs/run_cost.hpp"

namespace packsim {
namespace {

constexpr double kHoursPerDay = 24;

}  // namespace

RunCost run_cost(const Cluster& cluster, const RunTimes& times, const std::optional<WholeRun>& whole,
                 const std::optional<FailureCost>& failures) {
  RunCost cost{.gpu_hours = kHoursPerDay * (whole ? whole->gpu_days : times.gpu_days)};
  if (cluster.gpu.power_w) cost.energy_kwh = cost.gpu_hours * *cluster.gpu.power_w / 1000;
  if (!cluster.gpu_hour_price) return cost;
  const auto money_of = [&](double gpu_days) { return kHoursPerDay * gpu_days * *cluster.gpu_hour_price; };
  cost.money = *cluster.gpu_hour_price * cost.gpu_hours;
  cost.money_low = money_of(whole ? whole->gpu_days_low : times.gpu_days_low);
  cost.money_high = money_of(whole ? whole->gpu_days_high : times.gpu_days_high);
  if (failures) cost.money_with_failures = money_of(failures->gpu_days);
  return cost;
}

}  // namespace packsim
