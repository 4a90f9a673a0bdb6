#pragma once

#include <string>
#include <vector>

#include "calibration/fit/curves/fit_rows.hpp"

namespace packsim {

// One function for each kernel whose profile is more than curves over a size. Each adds curves and models to
// a profile, and sets the residuals and weights of its rows.

/// A curve for each layout, cache and pair of sides that tokens do not change, and a model for each layout
/// and cache.
void fit_gemms(const FitRows& rows, HardwareProfile& profile);

/// A model for each pass and head_dim, and over it a curve of one document's time for each head shape.
/// rows: of one pass. notes: what could not be told apart.
void fit_attention(const FitRows& rows, HardwareProfile& profile, std::vector<std::string>& notes);

/// A curve for each operation, group and imbalance, and a model for each operation in a node, and across
/// nodes of as many GPUs.
void fit_collectives(const FitRows& rows, HardwareProfile& profile);

/// A factor for each operation and group, over the gemm alone, which the profile must have by now.
void fit_overlaps(const FitRows& rows, HardwareProfile& profile, std::vector<std::string>& notes);

/// One curve for each place of curve_place().
void fit_curves(const FitRows& rows, HardwareProfile& profile);

/// Adds a curve or model where its key sorts.
void add_sorted(HardwareProfile& profile, KernelCurve curve);
void add_sorted(HardwareProfile& profile, KernelModel model);

/// The numbers of a fit by their names, in order.
std::vector<FittedNumber> named_numbers(const std::vector<std::string>& names, const PositiveFit& fit);
/// A time a unit as a rate: 1 / value. A rate of 0 time is a very large one.
FittedNumber as_rate(const std::string& name, const FittedNumber& time);

}  // namespace packsim
