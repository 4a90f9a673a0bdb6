#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/kernel_case.hpp"

namespace packsim {

/// How often a GPU runs a kernel in a part of a training step.
struct KernelUse {
  KernelCase kernel;
  double count = 0;  ///< a mean where it stands for many steps
  /// Of a step: forward, recompute, backward, optimizer. Of a schedule: the name of a Cause. In both, launch
  /// for the row of launch gaps.
  std::string part;
};

/// Uses in the order in which they were first added. Equal kernels of one part are one use.
class KernelUses {
 public:
  void add(const KernelCase& kernel, double count, std::string_view part);
  /// Adds as many launch gaps as there are kernels.
  void add_launch_gaps();
  const std::vector<KernelUse>& all() const { return uses_; }

 private:
  std::vector<KernelUse> uses_;
  std::map<std::string, std::size_t> index_of_;  // by part and text
};

}  // namespace packsim
