#include "sim/variability/variability.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/variability/counter_random.hpp"
#include "sim/variability/normal.hpp"

namespace packsim {
namespace {

// Sigma of the logarithm of a factor with mean 1, whose relative spread is sqrt(exp(sigma^2) - 1).
double log_sigma(double relative_spread) {
  return std::sqrt(std::log1p(relative_spread * relative_spread));
}

double factor_at(double z, double sigma) {
  return std::exp(sigma * z - sigma * sigma / 2);
}

void check_count(const char* name, std::int64_t count) {
  if (count < 1) {
    throw std::invalid_argument(std::string(name) + ": expected at least 1, got " + std::to_string(count));
  }
}

void check_spread(const char* name, double spread, std::vector<std::string>& mistakes) {
  if (spread >= 0 && spread <= 1) return;
  mistakes.push_back(std::string(name) + ": expected 0..1, got " + std::to_string(spread));
}

double one_rank_factor(const Variability& variability, std::int64_t rank) {
  double factor = 1;
  for (const SlowRank& slow : variability.slow_ranks) {
    if (slow.rank == rank) factor = slow.factor;
  }
  if (variability.rank_spread == 0) return factor;
  const std::uint64_t word = random_word(variability.seed, Draw::speed, {static_cast<std::uint64_t>(rank)});
  return factor * slowest_quantile(open_uniform(word), variability.rank_spread, 1);
}

}  // namespace

std::vector<std::string> variability_mistakes(const Variability& variability, std::int64_t n_ranks) {
  std::vector<std::string> mistakes;
  check_spread("rank_spread", variability.rank_spread, mistakes);
  check_spread("kernel_spread", variability.kernel_spread, mistakes);
  const auto& slow_ranks = variability.slow_ranks;
  for (std::size_t i = 0; i < slow_ranks.size(); ++i) {
    const std::string name = "slow_ranks[" + std::to_string(i) + "].";
    const std::int64_t rank = slow_ranks[i].rank;
    if (rank < 0 || rank >= n_ranks) {
      mistakes.push_back(name + "rank: expected 0.." + std::to_string(n_ranks - 1) + ", got " +
                         std::to_string(rank));
    }
    const auto same = [&](const SlowRank& other) { return other.rank == rank; };
    if (std::any_of(slow_ranks.begin(), slow_ranks.begin() + static_cast<std::ptrdiff_t>(i), same)) {
      mistakes.push_back(name + "rank: expected each rank once, got " + std::to_string(rank) + " again");
    }
    if (!(slow_ranks[i].factor > 0 && std::isfinite(slow_ranks[i].factor))) {
      mistakes.push_back(name + "factor: expected a number above 0, got " +
                         std::to_string(slow_ranks[i].factor));
    }
  }
  return mistakes;
}

double rank_factor(const Variability& variability, std::int64_t first_rank, std::int64_t n_ranks) {
  check_count("n_ranks", n_ranks);
  double slowest = 0;
  for (std::int64_t rank = first_rank; rank < first_rank + n_ranks; ++rank) {
    slowest = std::max(slowest, one_rank_factor(variability, rank));
  }
  return slowest;
}

double noise_factor(std::uint64_t seed, const NoiseKey& key, double relative_spread, std::int64_t n_gpus) {
  check_count("n_gpus", n_gpus);
  if (relative_spread == 0) return 1;
  const std::uint64_t word = random_word(seed, Draw::noise, {key.rank, key.iteration, key.op});
  return slowest_quantile(open_uniform(word), relative_spread, n_gpus);
}

double slowest_quantile(double probability, double relative_spread, std::int64_t n) {
  check_count("n", n);
  // The slowest is below x with probability F(x)^n, so one is below it with probability^(1/n). For a large n
  // that is next to 1, and the small difference is lost in a subtraction.
  const double log_below = std::log(probability) / static_cast<double>(n);
  const double z = log_below < -1 ? -normal_upper_quantile(std::exp(log_below))
                                  : normal_upper_quantile(-std::expm1(log_below));
  return factor_at(z, log_sigma(relative_spread));
}

}  // namespace packsim
