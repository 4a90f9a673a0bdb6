#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace packsim {

/// A GPU that is known to be slow. factor: its times over those of the others, 1.15 for 15 % slower.
struct SlowRank {
  std::int64_t rank = 0;
  double factor = 1;

  bool operator==(const SlowRank&) const = default;
};

/// How the times of a run spread around those of the cost model. A rank is one GPU.
///
/// Factors multiply times. They are log-normal with mean 1, and a relative spread is their standard
/// deviation: 0.03 is 3 %. The mean GPU is the one that the cost model prices.
struct Variability {
  double rank_spread = 0;    ///< between GPUs, drawn once a run
  double kernel_spread = 0;  ///< of one kernel from run to run of it
  std::vector<SlowRank> slow_ranks = {};
  std::uint64_t seed = 0;

  /// Whether any time is not that of the cost model.
  bool any() const { return rank_spread != 0 || kernel_spread != 0 || !slow_ranks.empty(); }

  bool operator==(const Variability&) const = default;
};

/// Why a run of this many GPUs cannot be so, every reason: "rank_spread: expected 0..1, got -0.1". Empty
/// where it can.
std::vector<std::string> variability_mistakes(const Variability& variability, std::int64_t n_ranks);

/// The slowest of ranks first_rank .. first_rank + n_ranks - 1, which govern what they do together; of one
/// rank, its own factor. A rank's factor does not depend on whom it is asked with, so a model-parallel group
/// that is simulated as one GPU is as slow as one that is simulated in full.
/// Throws std::invalid_argument for n_ranks below 1.
double rank_factor(const Variability& variability, std::int64_t first_rank, std::int64_t n_ranks = 1);

/// Names a draw of noise. The same name gives the same draw at every level of detail.
struct NoiseKey {
  std::uint64_t rank = 0;
  std::uint64_t iteration = 0;
  std::uint64_t op = 0;
};

/// The noise of what n_gpus symmetric GPUs do at once, one of which is simulated: the slowest of n_gpus
/// independent factors, in one draw. relative_spread: of one GPU's time.
/// Throws std::invalid_argument for n_gpus below 1.
double noise_factor(std::uint64_t seed, const NoiseKey& key, double relative_spread, std::int64_t n_gpus = 1);

/// The slowest of n independent factors, at this probability in (0, 1) of being below:
/// F^-1(probability^(1/n)).
double slowest_quantile(double probability, double relative_spread, std::int64_t n);

}  // namespace packsim
