#pragma once

#include <cstdint>
#include <vector>

namespace packsim {

/// Parts in whole units, which add up to `total` units. Each is its value rounded down or up: those with the
/// largest remainders are rounded up, as many as are missing. Of equal remainders the first one.
///
/// values: not negative, in units; their sum is within half a unit of total.
std::vector<std::int64_t> rounded_parts(const std::vector<double>& values, std::int64_t total);

}  // namespace packsim
