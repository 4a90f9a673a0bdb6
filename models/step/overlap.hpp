#pragma once

#include "models/kernels/hardware_profile.hpp"

namespace packsim {

/// How much longer computation takes while its GPU communicates: the geometric mean of the slow-downs that
/// the profile has measured, at least 1. It is 1 where the profile has none.
double overlap_slow_down(const HardwareProfile& profile);

}  // namespace packsim
