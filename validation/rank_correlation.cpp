#include "validation/rank_correlation.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

namespace packsim {
namespace {

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<double> ranks;
  for (const double value : values) {
    double rank = 0;
    for (const double other : values) rank += other < value ? 1 : other == value ? 0.5 : 0;
    ranks.push_back(rank);
  }
  return ranks;
}

double covariance(std::span<const double> a, std::span<const double> b) {
  const auto n = static_cast<double>(a.size());
  double a_sum = 0;
  double b_sum = 0;
  double products = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    a_sum += a[i];
    b_sum += b[i];
    products += a[i] * b[i];
  }
  return products / n - a_sum / n * (b_sum / n);
}

}  // namespace

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw std::invalid_argument("rank correlation: expected lists of equal length");
  if (a.empty()) return std::nullopt;
  const std::vector<double> a_ranks = ranks_of(a);
  const std::vector<double> b_ranks = ranks_of(b);
  const double spread = std::sqrt(covariance(a_ranks, a_ranks) * covariance(b_ranks, b_ranks));
  if (!(spread > 0)) return std::nullopt;
  return covariance(a_ranks, b_ranks) / spread;
}

}  // namespace packsim
