#pragma once

#include "packing/pack.hpp"

namespace packsim {

/// Throws std::invalid_argument if over-long samples that are dropped, and empty ones, leave nothing to
/// train: ratios and times of no packs would mean nothing.
void require_packs(const Packing& packing);

}  // namespace packsim
