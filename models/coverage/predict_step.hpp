#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "models/coverage/kernel_uses.hpp"
#include "models/kernels/hardware_profile.hpp"

namespace packsim {

struct PartTime {
  std::string part;  ///< forward, recompute, backward, optimizer
  double time_s = 0;
  double error_s = 0;  ///< one standard deviation
  std::array<double, kNEvidenceLevels> time_by_evidence_s = {};
};

/// A step as the sum of its kernels: nothing overlaps, nothing waits.
struct StepPrediction {
  double time_s = 0;
  double error_s = 0;   ///< one standard deviation
  double launch_s = 0;  ///< of the part "launch", which is not in the sum: the host launches ahead of the GPU
  std::vector<PartTime> parts;  ///< in the order of their first kernel
  std::array<double, kNEvidenceLevels> time_by_evidence_s = {};
  std::vector<std::string> missing;  ///< texts of kernels that nothing stands in for; they are not in the sum
};

/// Errors within a family add up, as they come from one library and a few curves. Families are independent.
StepPrediction predict_step(const HardwareProfile& profile, std::span<const KernelUse> kernels);

}  // namespace packsim
