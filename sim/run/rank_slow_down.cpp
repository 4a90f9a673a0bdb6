#include "sim/run/rank_slow_down.hpp"

#include <vector>

#include "sim/run/pass_spread.hpp"

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
  const PassSpread spread =
      pass_spread(*work.micro_batches[micro_batch].price, work.plan_of(micro_batch).chunks[chunk], is_forward,
                  variability_.kernel_spread, gpus);
  const std::size_t op = work.places.empty() ? pass : 2 * std::size_t{work.places[micro_batch].id} + pass % 2;
  const NoiseKey key{.rank = static_cast<std::uint64_t>(first_gpu), .iteration = iteration, .op = op};
  return spread.mean * noise_factor(variability_.seed, key, spread.relative_spread);
}

void RankSlowDown::set(std::uint64_t iteration, RankWork& work) {
  const ParallelPlan& plan = work.plan->plan;
  const auto n_stages = static_cast<std::size_t>(plan.pp_degree);
  const std::size_t n_micro_batches = work.micro_batches.size();
  work.stage_slow_down.assign(n_stages, 1);
  work.pass_slow_down.clear();
  // A micro-batch that other ranks share is as slow as the slowest GPU of all of them.
  const bool by_pass = variability_.kernel_spread > 0 || !work.places.empty();
  if (by_pass) work.pass_slow_down.resize(2 * work.plan->chunks.size() * n_micro_batches);
  for (std::size_t stage = 0; stage < n_stages; ++stage) {
    const int stage_gpu = work.stage_gpu(stage);
    work.stage_slow_down[stage] = gpus_of(stage_gpu, work.stage_gpus()).without_noise();
    if (!by_pass) continue;
    for (std::size_t chunk = stage; chunk < work.plan->chunks.size(); chunk += n_stages) {
      for (std::size_t pass = 2 * chunk * n_micro_batches; pass < 2 * (chunk + 1) * n_micro_batches; ++pass) {
        const std::size_t micro_batch = pass / 2 % n_micro_batches;
        const int first_gpu = work.places.empty() ? stage_gpu : work.places[micro_batch].first_gpu;
        const SlowestGpus& gpus = gpus_of(first_gpu, work.plan_of(micro_batch).plan.sequence_gpus());
        work.pass_slow_down[pass] = variability_.kernel_spread > 0
                                        ? pass_slow_down(iteration, work, pass, gpus, first_gpu)
                                        : gpus.without_noise();
      }
    }
  }
}

}  // namespace packsim
