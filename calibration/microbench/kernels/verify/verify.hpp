#pragma once

#include <functional>
#include <string>

#include "calibration/microbench/kernels/device.hpp"

namespace packsim::microbench {

/// One result of a kernel against its reference.
struct Check {
  std::string name;
  double error =
      0;  ///< largest difference over the largest value of the reference; infinite for not a number
  double limit = 0;
  std::string skipped;  ///< why it was not run; empty where it was
  std::string failed;   ///< what the GPU or a library said; empty where it ran

  bool is_right() const { return failed.empty() && (!skipped.empty() || error <= limit); }
};

/// Runs every kernel of this process's first GPU at a small size, on random data, and compares with the
/// references. Outputs are filled with not-a-number before, so that what is left unwritten is found. Each
/// result is reported as soon as it is known; a kernel that fails does not keep the others from being run.
void verify_kernels(Device& device, const std::function<void(const Check&)>& report);

}  // namespace packsim::microbench
