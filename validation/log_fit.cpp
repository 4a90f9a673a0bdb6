#include "validation/log_fit.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "calibration/fit/dense_algebra.hpp"

namespace packsim {

std::vector<std::optional<double>> fit_logs(
    std::size_t n_rows, std::vector<double> start,
    const std::function<double(std::size_t row, const std::vector<double>& numbers)>& log_error) {
  constexpr int kSteps = 12;
  constexpr double kChange = 0.05;
  constexpr double kSmallStep = 1e-4;
  const auto n = static_cast<Eigen::Index>(n_rows);
  const auto logs = [&](const std::vector<double>& numbers) {
    Eigen::VectorXd values(n);
    for (Eigen::Index i = 0; i < n; ++i) values[i] = log_error(static_cast<std::size_t>(i), numbers);
    return values;
  };
  std::vector<double> numbers = std::move(start);
  std::vector<std::size_t> told;
  double largest = 1;
  for (int step = 0; step < kSteps && largest > kSmallStep; ++step) {
    const Eigen::VectorXd errors = logs(numbers);
    Eigen::MatrixXd slopes(n, 0);
    told.clear();
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      std::vector<double> changed = numbers;
      changed[k] *= std::exp(kChange);
      const Eigen::VectorXd slope = (logs(changed) - errors) / kChange;
      if (slope.norm() == 0) continue;
      told.push_back(k);
      slopes.conservativeResize(Eigen::NoChange, slopes.cols() + 1);
      slopes.rightCols(1) = slope;
    }
    const Eigen::VectorXd change = solve_symmetric(weighted_normal(slopes, Eigen::VectorXd::Ones(n)),
                                                   transposed_product(slopes, -errors));
    largest = 0;
    for (std::size_t i = 0; i < told.size(); ++i) {
      const double by = std::clamp(change[static_cast<Eigen::Index>(i)], -1.0, 1.0);
      numbers[told[i]] *= std::exp(by);
      largest = std::max(largest, std::abs(by));
    }
  }
  std::vector<std::optional<double>> fitted(numbers.size());
  for (const std::size_t k : told) fitted[k] = numbers[k];
  return fitted;
}

}  // namespace packsim
