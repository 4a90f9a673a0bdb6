#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sim/step/rank_work.hpp"
#include "sim/variability/slowest_gpu.hpp"
#include "sim/variability/variability.hpp"

namespace packsim {

/// Slows down the ranks of a run by slow GPUs and noise. A stage of a rank is as slow as its slowest GPU.
/// Noise is one random draw for each pass of a micro-batch through a chunk, with the mean and spread of
/// pass_spread(). The draw depends only on the seed, the stage's first GPU, the iteration and the pass.
class RankSlowDown {
 public:
  explicit RankSlowDown(const Variability& variability) : variability_(variability) {}

  /// Sets the factors by which the rank is slower in an iteration.
  void set(std::uint64_t iteration, RankWork& work);

 private:
  const SlowestGpus& gpus_of(int first_gpu, int n_gpus);
  double pass_slow_down(std::uint64_t iteration, const RankWork& work, std::size_t pass,
                        const SlowestGpus& gpus, int first_gpu) const;

  Variability variability_;
  std::map<std::pair<int, int>, SlowestGpus> gpus_;  // by first GPU and number of GPUs
};

}  // namespace packsim
