#pragma once

#include <optional>
#include <span>

namespace packsim {

/// Spearman's rank correlation of two lists of equal length: the linear correlation of their ranks, where
/// equal values share the mean of their ranks. -1 to 1. None if a list has fewer than two different values.
///
/// Throws std::invalid_argument if the lists differ in length.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace packsim
