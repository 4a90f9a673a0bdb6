#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sim/step/rank_work.hpp"
#include "sim/variability/slowest_gpu.hpp"
#include "sim/variability/variability.hpp"

namespace packsim {

/// What slow GPUs and noise do to the ranks of a run. A stage of a rank is as slow as the slowest of its
/// GPUs; noise is one draw for each pass of a micro-batch through a chunk, named by the stage's first GPU,
/// the iteration and the pass, of the mean and spread of pass_spread().
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
  std::map<std::pair<int, int>, SlowestGpus> gpus_;  // By first GPU and number of GPUs.
};

}  // namespace packsim
