#include "sim/rank_slow_down.hpp"

#include <vector>

#include "sim/pass_spread.hpp"

namespace packsim {

const SlowestGpus& RankSlowDown::gpus_of(int first_gpu, int n_gpus) {
  const auto known = gpus_.find({first_gpu, n_gpus});
  if (known != gpus_.end()) return known->second;
  std::vector<double> factors;
  for (int gpu = first_gpu; gpu < first_gpu + n_gpus; ++gpu)
    factors.push_back(rank_factor(variability_, gpu));
  return gpus_.try_emplace({first_gpu, n_gpus}, std::move(factors), variability_.kernel_spread).first->second;
}

double RankSlowDown::pass_slow_down(std::uint64_t iteration, const RankWork& work, std::size_t pass,
                                    const SlowestGpus& gpus, int first_gpu) const {
  const bool is_forward = pass % 2 == 0;
  const std::size_t micro_batch = pass / 2 % work.micro_batches.size();
  const std::size_t chunk = pass / 2 / work.micro_batches.size();
  const PassSpread spread = pass_spread(*work.micro_batches[micro_batch], work.plan->chunks[chunk],
                                        is_forward, variability_.kernel_spread, gpus);
  const NoiseKey key{.rank = static_cast<std::uint64_t>(first_gpu), .iteration = iteration, .op = pass};
  return spread.mean * noise_factor(variability_.seed, key, spread.relative_spread);
}

void RankSlowDown::set(std::uint64_t iteration, RankWork& work) {
  const ParallelPlan& plan = work.plan->plan;
  const auto n_stages = static_cast<std::size_t>(plan.pp_degree);
  const std::size_t passes_of_chunk = 2 * work.micro_batches.size();
  work.stage_slow_down.assign(n_stages, 1);
  work.pass_slow_down.clear();
  if (variability_.kernel_spread > 0) work.pass_slow_down.resize(work.plan->chunks.size() * passes_of_chunk);
  for (std::size_t stage = 0; stage < n_stages; ++stage) {
    const int first_gpu = work.stage_gpu(stage);
    const SlowestGpus& gpus = gpus_of(first_gpu, plan.sequence_gpus());
    work.stage_slow_down[stage] = gpus.without_noise();
    if (variability_.kernel_spread == 0) continue;
    for (std::size_t chunk = stage; chunk < work.plan->chunks.size(); chunk += n_stages) {
      for (std::size_t pass = chunk * passes_of_chunk; pass < (chunk + 1) * passes_of_chunk; ++pass)
        work.pass_slow_down[pass] = pass_slow_down(iteration, work, pass, gpus, first_gpu);
    }
  }
}

}  // namespace packsim
