#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/coverage/kernel_uses.hpp"
#include "models/kernels/hardware_profile.hpp"

namespace packsim {

/// A use, how well its time is known, and how much of the whole it is.
struct CoveredUse {
  KernelUse use;
  KernelTime time;      ///< of one; where missing, time_s is rough_kernel_s()
  double total_s = 0;   ///< of all
  double fraction = 0;  ///< of all uses' time
};

/// Kernels of one kind, such as "gemm", "attention bwd" or "collective all_to_all".
struct FamilyCoverage {
  std::string family;
  double total_s = 0;
  double fraction = 0;
  std::array<double, kNEvidenceLevels> fraction_by_evidence = {};  ///< of all uses' time; sums to fraction
  std::array<int, kNEvidenceLevels> n_kernels = {};                ///< different ones
  /// Error of total_s without missing ones. The errors of a family add up, as one curve or one model is
  /// behind them.
  double relative_error = 0;
};

/// How much of a workload a profile has measured. Times are sums over kernels, even of kernels that run at
/// the same time. Launch gaps are not in the sums, as the host launches while the GPU works.
struct Coverage {
  double total_s = 0;  ///< of all uses; rough_kernel_s() for those that are missing
  std::array<double, kNEvidenceLevels> fraction_by_evidence = {};
  /// Error of total_s without what is missing. Families are taken as independent of each other.
  double relative_error = 0;
  std::vector<FamilyCoverage> families;  ///< largest share first
  std::vector<CoveredUse> uses;          ///< largest share first; one a kernel and part
};

Coverage coverage(const std::function<KernelTime(const KernelCase&)>& kernel_time,
                  std::span<const KernelUse> uses);

/// A kernel that a measurement would move up to `measured`.
struct UnmeasuredCase {
  KernelCase kernel;
  Evidence evidence = Evidence::missing;
  double fraction = 0;  ///< of all uses' time, over all parts
};

/// The kernels whose evidence is `from` or worse, the largest share of time first. With `extrapolated`,
/// interpolated ones are left out.
std::vector<UnmeasuredCase> unmeasured_cases(const Coverage& coverage, Evidence from);

}  // namespace packsim
