#pragma once

#include <span>

#include "experiment/results/strategy_result.hpp"
#include "packing/pack.hpp"

namespace packsim {

/// Compares the packs of successive epochs by the samples that they hold, in whatever order and group.
///
/// epochs: [n_epochs], packings of the same items.
Repacking count_new_packs(std::span<const Packing* const> epochs);

}  // namespace packsim
