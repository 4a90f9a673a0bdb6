#pragma once

#include <string>
#include <vector>

#include "models/kernels/hardware_profile.hpp"

namespace packsim {

/// Times of one profile over those of another, on the sizes that both have measured.
struct ProfileRatio {
  std::string key;  ///< of a curve, or a kernel with its op, pass or kind
  double mean = 0;  ///< geometric
  double low = 0;
  double high = 0;
  double low_at = 0;  ///< size
  double high_at = 0;
  double from = 0;  ///< the common range of sizes; 0 of families
  double to = 0;
  int n = 0;  ///< sizes compared
};

struct ProfileComparison {
  std::vector<ProfileRatio> curves;
  std::vector<ProfileRatio> families;
  std::vector<std::string> only_in_a;  ///< keys of curves
  std::vector<std::string> only_in_b;
  std::vector<std::string> no_common_size;  ///< keys of curves in both, at sizes that do not overlap
};

/// Time of b over time of a: 0.5 is twice as fast. Curves are compared at the sizes of either that lie within
/// both. Attention's curves have no launch in them; a curve of another cache does not stand in.
ProfileComparison compare_profiles(const HardwareProfile& a, const HardwareProfile& b);

}  // namespace packsim
