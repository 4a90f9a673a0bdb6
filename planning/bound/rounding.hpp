#pragma once

#include <vector>

#include "models/step/step_price.hpp"

namespace packsim {

/// Prices are whole nanoseconds. The most that rounding may take from a micro-batch's passes through these
/// chunks, or from the prices that its own lie between.
double rounding_s(const MicroBatchPrice& price, const std::vector<ChunkShape>& chunks);

}  // namespace packsim
