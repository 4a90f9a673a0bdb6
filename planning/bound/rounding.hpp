#pragma once

#include <vector>

#include "models/step/step_price.hpp"

namespace packsim {

/// The most that rounding to whole nanoseconds may take from a micro-batch's passes through these chunks, or
/// from the prices between which its own were interpolated.
double rounding_s(const MicroBatchPrice& price, const std::vector<ChunkShape>& chunks);

}  // namespace packsim
