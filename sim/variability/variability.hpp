#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace packsim {

/// A GPU that is known to be slow. factor: its times over those of the other GPUs; 1.15 is 15 % slower.
struct SlowRank {
  std::int64_t rank = 0;
  double factor = 1;

  bool operator==(const SlowRank&) const = default;
};

/// How far the times of a run differ from those of the cost model. A rank is one GPU here.
///
/// Factors multiply times. They are log-normal with mean 1, and a spread is their standard deviation: 0.03 is
/// 3 %. The mean GPU takes the times of the cost model.
struct Variability {
  double rank_spread = 0;    ///< spread between GPUs, drawn once for each run
  double kernel_spread = 0;  ///< spread of a kernel each time it runs
  std::vector<SlowRank> slow_ranks = {};
  std::uint64_t seed = 0;

  /// Whether any time differs from that of the cost model.
  bool any() const { return rank_spread != 0 || kernel_spread != 0 || !slow_ranks.empty(); }

  bool operator==(const Variability&) const = default;
};

/// All mistakes for a run of this many GPUs, such as "rank_spread: expected 0..1, got -0.1". Empty if there
/// are none.
std::vector<std::string> variability_mistakes(const Variability& variability, std::int64_t n_ranks);

/// The factor of the slowest of the ranks first_rank to first_rank + n_ranks - 1, which limits what they do
/// together. A rank's factor does not depend on which other ranks are asked for, so a model-parallel group
/// that is simulated as one GPU is as slow as one that is simulated in full.
///
/// Throws std::invalid_argument for n_ranks below 1.
double rank_factor(const Variability& variability, std::int64_t first_rank, std::int64_t n_ranks = 1);

/// Identifies a random draw of noise. The same key gives the same draw at every level of detail.
struct NoiseKey {
  std::uint64_t rank = 0;
  std::uint64_t iteration = 0;
  std::uint64_t op = 0;
};

/// The noise factor of work that n_gpus symmetric GPUs do at the same time, of which one is simulated: the
/// largest of n_gpus independent factors, in one draw. relative_spread: of the time of one GPU. Throws
/// std::invalid_argument for n_gpus below 1.
double noise_factor(std::uint64_t seed, const NoiseKey& key, double relative_spread, std::int64_t n_gpus = 1);

/// The value that the largest of n independent factors does not exceed with the given probability in (0, 1):
/// F^-1(probability^(1/n)).
double slowest_quantile(double probability, double relative_spread, std::int64_t n);

}  // namespace packsim
