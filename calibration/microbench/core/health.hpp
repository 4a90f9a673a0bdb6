#pragma once

#include <string>
#include <vector>

namespace packsim::microbench {

/// What the GPU says of itself at one moment.
struct Health {
  double sm_clock_mhz = 0;
  double power_w = 0;
  double temperature_c = 0;
  std::vector<std::string>
      slowed_by;  ///< why the driver holds the clocks down: power_cap, heat, hardware, ...
};

/// What it said during one case.
class HealthRecord {
 public:
  void add(const Health& health);
  bool empty() const { return n_ == 0; }
  double lowest_clock_mhz() const { return lowest_clock_mhz_; }
  double highest_clock_mhz() const { return highest_clock_mhz_; }
  double power_w() const { return power_w_; }
  double temperature_c() const { return temperature_c_; }
  const std::vector<std::string>& slowed_by() const { return slowed_by_; }
  /// The driver slowed the GPU for heat or for the hardware's safety. A clock that moves at the power limit
  /// is no fault: every large product runs so, and what drifts in time is noisy.
  bool is_throttled() const;

 private:
  int n_ = 0;
  double lowest_clock_mhz_ = 0;
  double highest_clock_mhz_ = 0;
  double power_w_ = 0;
  double temperature_c_ = 0;
  std::vector<std::string> slowed_by_;
};

/// A reason that is_throttled() counts.
bool is_harmful(const std::string& slowed_by);

}  // namespace packsim::microbench
