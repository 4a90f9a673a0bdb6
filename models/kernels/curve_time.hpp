#pragma once

#include <functional>
#include <vector>

#include "models/kernels/hardware_profile.hpp"

namespace packsim {

/// A time with its error and evidence, but not yet with its basis.
struct CurveTime {
  double time_s = 0;
  double relative_error = 0;
  Evidence evidence = Evidence::missing;
};

/// The time that a curve's points are relative to. It rises with size.
using BaseTime = std::function<double(double size)>;
/// fixed_s + size / size_per_s; proportional to size behind the point of a curve of one.
BaseTime growth_of(const KernelCurve& curve);

/// The logarithm of time at a size in [sizes.front(), sizes.back()] from the logarithms at sizes that rise:
/// the ratio to base is interpolated, and where base is steeper than the points, so that the result would
/// dip, it stays at the lower point. base: empty for straight lines.
double log_between(const std::vector<double>& sizes, const std::vector<double>& logs, double size,
                   const BaseTime& base);

/// Reads a curve at a size over 0. The error of a point grows between points by the curve's left-out error,
/// which was found over gaps twice as wide, and in wider gaps with the square of their width, as that of
/// linear interpolation does; outside by end_error.
CurveTime curve_time(const KernelCurve& curve, double size);
CurveTime curve_time(const KernelCurve& curve, double size, const BaseTime& base);

/// The logarithm of size over the end that it is beyond; 0 between the ends.
double beyond_ends(const KernelCurve& curve, double size);

/// How far outside the box of its fit a model is used: the root of the summed squares of logarithms.
double beyond_box(const KernelModel& model, const std::vector<double>& values);

/// The standard deviation of a product of factors with these independent relative errors.
double together(double error, double other_error);
double together(double error, double other_error, double third_error);

}  // namespace packsim
