#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/curves/fit_rows.hpp"
#include "models/kernels/curve_time.hpp"

namespace packsim {

/// The base of a curve fitted to some of its points, [n_points] each.
using FitBase = std::function<BaseTime(const std::vector<double>& sizes, const std::vector<double>& logs)>;

/// Points of a curve before they were made to rise. What is no longer usable are outliers.
struct PointFit {
  std::vector<double> sizes;
  std::vector<double> logs;
  std::vector<double> weights;
};

/// Makes a curve of rows whose size is set, and sets their residuals and weights.
///
/// A size's time is the mean of its rows' logarithms. A row far from the others of its size, or from both
/// what lies before and what lies behind it, is an outlier: it weighs nothing, and where it is the only row
/// of its size, its neighbours give the time. Then times are made to never fall (isotonic regression).
/// Growth and left-out error are fitted too; model: the base of a kernel that has one, for which `points`
/// gets what a left-out error is computed from.
KernelCurve fit_curve(const std::string& key, const std::string& size_name, FitRows rows,
                      const BaseTime& model = {}, PointFit* points = nullptr);

/// Squared errors of each inner point, predicted by what the others give without it; base: fitted to them.
std::vector<double> left_out_squares(const PointFit& points, const FitBase& base);
double root_mean(const std::vector<double>& squares);

}  // namespace packsim
