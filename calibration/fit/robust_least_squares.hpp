#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

namespace packsim {

struct RobustOptions {
  /// Residuals at the end of the vector that are priors: never outliers, in units of one standard deviation,
  /// and not counted as data.
  Eigen::Index n_priors = 0;
  /// Standard deviation of the data's residuals; 0: estimated from them. It never goes below least_scale.
  double scale = 0;
  double least_scale = 1e-6;
  /// [n_data] What a residual is multiplied with, as its row is known to be less exact: 0.5 for twice the
  /// standard deviation. Empty: 1 for all.
  Eigen::VectorXd trust = {};
  int most_iterations = 200;
};

struct RobustFit {
  Eigen::VectorXd x;
  Eigen::MatrixXd covariance;  ///< of x
  Eigen::VectorXd residuals;   ///< all, priors included
  Eigen::VectorXd weights;     ///< [n_data] 0 (an outlier) .. 1
  double scale = 0;            ///< robust standard deviation of the data's residuals
};

using Residuals = std::function<Eigen::VectorXd(const Eigen::VectorXd& x)>;

/// Least squares that a minority of outliers does not move: Levenberg-Marquardt (numerical Jacobian), first
/// with Huber's weights, then with Tukey's biweight at 4.685 scales (95 % as efficient as least squares on
/// normal errors). The scale comes from the smaller two thirds of the residuals at first, then from the
/// residuals that have weight. The covariance is that of an M-estimate (Huber 1981, section 7.6) of the rows
/// that have weight; of few rows it is widened as Student's distribution is, so that 95 of 100 truths are
/// within two deviations.
RobustFit robust_least_squares(const Residuals& residuals, const Eigen::VectorXd& start,
                               const RobustOptions& options = {});

/// The standard deviation that the smaller two thirds (of under 20 values: four fifths) of the values, in
/// size, are those of a normal distribution of: fewer outliers than the rest do not count. n_parameters:
/// fitted to the values.
double robust_scale(const Eigen::VectorXd& values, Eigen::Index n_parameters = 0);

/// Numbers of at least 0 that a model of times is made of.
struct PositiveFit {
  std::vector<double> values;
  std::vector<double> standard_errors;
  Eigen::MatrixXd log_covariance;  ///< of the logarithms; rows and columns of numbers that are 0 are 0
  Eigen::VectorXd residuals;       ///< [n_rows] log of model over measured
  Eigen::VectorXd weights;         ///< [n_rows]
  double scale = 0;
};

/// The time of a row by a model with these numbers.
using RowTime = std::function<double(const std::vector<double>& numbers, std::size_t row)>;

/// measured_s: [n_rows]. The residuals are logarithms, the search is over the logarithms of the numbers. A
/// number that starts at 0 stays there, and one that no row needs (under 0.01 % of every time) becomes 0.
/// trust: as in RobustOptions. known: [n_numbers] the standard deviation of the logarithm of a number over
/// its start, as far as it is known without the rows; 0: nothing is known. Empty: of all numbers.
PositiveFit fit_positive(const RowTime& time_s, const std::vector<double>& measured_s,
                         const std::vector<double>& start, const Eigen::VectorXd& trust = {},
                         const std::vector<double>& known = {});

}  // namespace packsim
