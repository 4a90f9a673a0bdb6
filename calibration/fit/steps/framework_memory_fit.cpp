#include "calibration/fit/steps/framework_memory_fit.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/fit/dense_algebra.hpp"

namespace packsim {
namespace {

using MeasuredPeaks = std::vector<const MeasuredStep*>;

// For given moments of the peaks both numbers are linear in the bytes.
Eigen::Vector2d solve(const Eigen::MatrixX2d& columns, const Eigen::VectorXd& bytes) {
  Eigen::Vector2d x = least_squares(columns, bytes);
  if (x[1] < 0) x = Eigen::Vector2d(std::max(0.0, bytes.mean()), 0);
  const double squares = columns.col(1).squaredNorm();
  if (x[0] < 0) x = Eigen::Vector2d(0, squares > 0 ? std::max(0.0, columns.col(1).dot(bytes) / squares) : 0);
  return x;
}

}  // namespace

FrameworkMemoryFit fit_framework_memory(const std::vector<const MeasuredStep*>& steps) {
  FrameworkMemoryFit fit;
  MeasuredPeaks peaks;
  for (const MeasuredStep* step : steps) {
    if (step->row->peak_memory_bytes) peaks.push_back(step);
  }
  fit.is_measured = peaks.size() >= 2;
  if (!fit.is_measured) return fit;
  const auto n = static_cast<Eigen::Index>(peaks.size());
  Eigen::MatrixX2d columns(n, 2);
  Eigen::VectorXd bytes(n);
  // All at the loss at first; then where the numbers before put them.
  FrameworkFactors factors{.logits_bytes_per_vocab_entry = 1e6};
  Eigen::Vector2d x(0, 0);
  for (int round = 0; round < 20; ++round) {
    for (Eigen::Index i = 0; i < n; ++i) {
      const MeasuredStep& step = *peaks[static_cast<std::size_t>(i)];
      const MemoryPeak peak = peak_memory_of(step, factors);
      columns(i, 0) = 1;
      columns(i, 1) = peak.logits_bytes / factors.logits_bytes_per_vocab_entry;
      bytes[i] =
          *step.row->peak_memory_bytes - (peak.total_bytes() - peak.logits_bytes - peak.reserved_bytes);
    }
    const Eigen::Vector2d before = x;
    x = solve(columns, bytes);
    factors.reserved_bytes = x[0];
    factors.logits_bytes_per_vocab_entry = std::max(x[1], 1e-6);
    if ((x - before).cwiseAbs().maxCoeff() <= 1e-9 * x.cwiseAbs().maxCoeff()) break;
  }
  const double variance = (columns * x - bytes).squaredNorm() / std::max(1.0, static_cast<double>(n - 2));
  const Eigen::Matrix2d covariance = variance * inverse_normal(columns);
  fit.reserved_bytes = {fit.reserved_bytes.name, x[0], std::sqrt(std::abs(covariance(0, 0)))};
  fit.logits_bytes_per_vocab_entry = {fit.logits_bytes_per_vocab_entry.name, x[1],
                                      std::sqrt(std::abs(covariance(1, 1)))};
  return fit;
}

}  // namespace packsim
