#include "calibration/microbench/core/health.hpp"

#include <algorithm>

namespace packsim::microbench {

void HealthRecord::add(const Health& health) {
  lowest_clock_mhz_ = n_ == 0 ? health.sm_clock_mhz : std::min(lowest_clock_mhz_, health.sm_clock_mhz);
  highest_clock_mhz_ = std::max(highest_clock_mhz_, health.sm_clock_mhz);
  power_w_ = std::max(power_w_, health.power_w);
  temperature_c_ = std::max(temperature_c_, health.temperature_c);
  for (const std::string& reason : health.slowed_by) {
    if (std::ranges::find(slowed_by_, reason) == slowed_by_.end()) slowed_by_.push_back(reason);
  }
  ++n_;
}

bool HealthRecord::is_throttled() const {
  return std::ranges::any_of(slowed_by_, is_harmful);
}

bool is_harmful(const std::string& slowed_by) {
  return slowed_by == "heat" || slowed_by == "hardware" || slowed_by == "power_brake";
}

}  // namespace packsim::microbench
