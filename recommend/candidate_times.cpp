#include "recommend/candidate_times.hpp"

namespace packsim {

CandidateTimes times_of(const StrategyResult& run, const std::optional<double>& gpu_hour_price) {
  constexpr double kHoursPerDay = 24;
  const RunTimes& times = *run.times;
  CandidateTimes result{.wall_hours = times.wall_hours, .gpu_days = times.gpu_days};
  double low = 1;
  double high = 1;
  if (times.gpu_days_low > 0) {
    low = times.gpu_days_low / times.gpu_days;
    high = times.gpu_days_high / times.gpu_days;
  }
  if (run.failures) {
    result.wall_hours = run.failures->wall_hours;
    result.gpu_days = run.failures->gpu_days;
    low *= run.failures->gpu_days_p05 / result.gpu_days;
    high *= run.failures->gpu_days_p95 / result.gpu_days;
  }
  result.wall_hours_low = low * result.wall_hours;
  result.wall_hours_high = high * result.wall_hours;
  result.gpu_days_low = low * result.gpu_days;
  result.gpu_days_high = high * result.gpu_days;
  if (gpu_hour_price) {
    const auto money = [&](double gpu_days) { return kHoursPerDay * gpu_days * *gpu_hour_price; };
    result.money = money(result.gpu_days);
    result.money_low = money(result.gpu_days_low);
    result.money_high = money(result.gpu_days_high);
  }
  return result;
}

}  // namespace packsim
