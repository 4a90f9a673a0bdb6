#include "experiment/results/time_ratio.hpp"

namespace packsim {

TimeRatio gpu_day_ratio(const StrategyResult& a, const StrategyResult& b) {
  const double value = a.times->gpu_days / b.times->gpu_days;
  if (!a.times->errors.is_known() || !b.times->errors.is_known()) return {.value = value};
  const double factor = &a == &b ? 1 : nine_of_ten_factor(ratio_error(a.times->errors, b.times->errors));
  return {.value = value, .low = value / factor, .high = value * factor};
}

}  // namespace packsim
