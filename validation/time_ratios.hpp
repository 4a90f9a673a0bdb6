#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "validation/validation_row.hpp"

namespace packsim {

/// The sets whose rows validate_time_ratios() compares with each other.
std::span<const std::string_view> sets_with_ratios();

/// Ratios of two rows of a set that are of the same job, each to the one before it, with the intervals that
/// reports give to ratios of runs. Also, how far the share of left-out errors that each run has to itself is
/// from its fit to them, and how many ratios are outside when their source is left out of that fit.
ValidationSet validate_time_ratios(std::span<const ValidationSet> sets);

}  // namespace packsim
