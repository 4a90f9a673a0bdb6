#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <vector>

#include "calibration/fit/robust_least_squares.hpp"
#include "models/kernels/hardware_profile.hpp"

namespace packsim {

/// A measurement on its way into a fit.
struct FitRow {
  const Measurement* row = nullptr;
  double time_s = 0;          ///< median of its samples
  double relative_noise = 0;  ///< spread of its samples; 0 where there is one
  double size = 0;            ///< on its curve
  double trust = 1;           ///< 0.5 where it is flagged noisy or throttled: twice the standard deviation
  // What the fit makes of it.
  double residual = 0;      ///< log of fitted over measured
  double weight = 1;        ///< 0 for an outlier
  bool distrusted = false;  ///< an outlier whatever its curve says
};
using FitRows = std::vector<FitRow*>;

/// A row that a fit gives next to no weight, as it is more than four standard deviations of the others and 15
/// % away.
bool is_outlier(const FitRow& row);
/// residuals, weights: those of a robust fit, a row each. A row that is near in percent is no outlier.
void set_fitted(const FitRows& rows, const Eigen::VectorXd& residuals, const Eigen::VectorXd& weights);

/// The library of each family, and the rows that go with it.
struct ChosenRows {
  std::map<std::string, std::string> library;            ///< by family
  std::map<std::string, std::vector<FitRow>> by_family;  ///< rows of that library
  std::vector<UnusedRows> unused;
};

/// choice: family or kernel name -> library; families that it does not name take the library with the most
/// rows. A row that was cut short by the budget goes where a later one has its case. Throws
/// std::invalid_argument for a library that has no row, and for names of no family.
ChosenRows choose_rows(const Measurements& measurements, const std::map<std::string, std::string>& choice);

/// Counts and errors of rows after a fit.
FitQuality quality_of(const FitRows& rows);
/// The sorted ids of their sources.
std::vector<std::string> sources_of(const FitRows& rows);
/// The rows of each curve, by its key.
std::map<std::string, FitRows> by_curve(const FitRows& rows);

/// The trust is that of RobustOptions; it is empty if every row has all trust.
Eigen::VectorXd trust_of(const FitRows& rows);
/// fit_positive() of the rows' times, with their trust.
PositiveFit fit_times_of(const FitRows& rows, const RowTime& time_s, const std::vector<double>& start);

/// What a model was fitted on: the least and the largest value.
KeyRange range_of(const std::string& key, const std::vector<double>& values);
/// The same of an integer of the rows' cases.
KeyRange range_of(const std::string& key, const FitRows& rows);

/// Weighted isotonic regression: the nearest values (least squares) that never fall.
std::vector<double> never_falling(const std::vector<double>& values, const std::vector<double>& weights);

}  // namespace packsim
