#include "planning/bound/lower_bound.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/step/micro_batch_time.hpp"
#include "planning/bound/epoch_bound.hpp"

namespace packsim {

LowerBounds::LowerBounds(const Job& job, const ParallelPlan& plan, const BoundSpace& space,
                         std::shared_ptr<KernelPricer> kernels)
    : job_(job),
      plan_(plan),
      space_(space),
      kernels_(kernels ? std::move(kernels) : std::make_shared<KernelPricer>(job.hardware, job.cluster)) {
  for (int ulysses = 1; ulysses <= plan.n_gpus; ulysses *= 2)
    space_.sequences.push_back({.ulysses = ulysses, .ring = plan.sequence.ring});
  std::ranges::sort(space_.sequences);
  space_.sequences.erase(std::ranges::unique(space_.sequences).begin(), space_.sequences.end());
  std::erase_if(space_.sequences, [&](const SequenceParallelism& sequence) {
    return !plan_mistakes(job.model, job.cluster, plan_of(plan.zero_stage, sequence)).empty();
  });
  for (const SequenceParallelism& sequence : space_.sequences) {
    pricers_.push_back(std::make_unique<StepPricer>(
        job.model, job.cluster, plan_of(plan.zero_stage, sequence), job.hardware, job.factors, kernels_));
  }
  pipeline_stage_ = busiest_stage();
}

ParallelPlan LowerBounds::plan_of(int zero_stage, const SequenceParallelism& sequence) const {
  ParallelPlan plan = plan_;
  plan.zero_stage = zero_stage;
  plan.sequence = sequence;
  plan.gc_layers = 0;
  return plan;
}

// The bound holds for each stage alone; this one's is the highest, or nearly.
int LowerBounds::busiest_stage() {
  if (plan_.pp_degree == 1 || pricers_.empty()) return 0;
  constexpr std::int64_t kTokensPerGpu = 4096;
  StepPricer& pricer = *pricers_.front();
  const MicroBatchPrice price = pricer.micro_batch(kTokensPerGpu * pricer.plan().sequence_gpus(), {});
  std::vector<std::int64_t> busy_ns(static_cast<std::size_t>(plan_.pp_degree));
  for (int chunk = 0; chunk < plan_.n_chunks(); ++chunk) {
    const ChunkShape shape = pricer.chunk(chunk);
    busy_ns[static_cast<std::size_t>(chunk % plan_.pp_degree)] +=
        forward_time(price, shape).total_ns + backward_time(price, shape).total_ns;
  }
  return static_cast<int>(std::ranges::max_element(busy_ns) - busy_ns.begin());
}

const LowerBounds::Stage& LowerBounds::stage(int zero_stage) {
  const auto [place, is_new] = stages_.try_emplace(zero_stage);
  Stage& stage = place->second;
  if (!is_new || pricers_.empty()) return stage;
  const ParallelPlan first = plan_of(zero_stage, space_.sequences.front());
  if (!plan_mistakes(job_.model, job_.cluster, first).empty()) return stage;
  // GPUs share states alike at all degrees.
  StepPricer states(job_.model, job_.cluster, first, job_.hardware, job_.factors, kernels_);
  const StepFloor step = step_floor(states, pipeline_stage_);
  // Of a step's packs the first on each GPU adds up nothing. Where even that is more than the rest of the
  // step, none counts.
  const double sums_s = step.step_s >= step.sums_s ? step.sums_s : 0;
  stage.step_s = step.step_s - sums_s;
  for (std::size_t i = 0; i < pricers_.size(); ++i) {
    stage.floors.emplace_back(job_, *pricers_[i],
                              PackFloorSetting{.plan = plan_of(zero_stage, space_.sequences[i]),
                                               .stage = pipeline_stage_,
                                               .most_tokens = space_.most_pack_tokens,
                                               .sums_s = sums_s,
                                               .states_s = step.pack_s});
  }
  return stage;
}

std::optional<LowerBound> LowerBounds::at(int zero_stage, std::span<const LengthCount> lengths) {
  const Stage& stage = this->stage(zero_stage);
  LowerBound bound{.zero_stage = zero_stage};
  std::vector<SampleFloor> samples;
  std::int32_t longest_tokens = 0;
  for (const LengthCount& length : lengths) {
    longest_tokens = std::max(longest_tokens, length.length_tokens);
    SampleFloor& sample = samples.emplace_back();
    sample = {.length_tokens = length.length_tokens,
              .n_samples = length.n_samples,
              .gpu_s = std::numeric_limits<double>::infinity(),
              .alone_s = std::numeric_limits<double>::infinity()};
    const PackFloor* cheapest = nullptr;
    for (const PackFloor& floor : stage.floors) {
      if (!floor.holds(length.length_tokens)) continue;
      sample.alone_s = std::min(sample.alone_s, floor.alone_s(length.length_tokens));
      const double gpu_s = floor.gpu_s(length.length_tokens);
      if (gpu_s >= sample.gpu_s) continue;
      sample.gpu_s = gpu_s;
      cheapest = &floor;
    }
    if (cheapest == nullptr) return std::nullopt;
    cheapest->add_gpu_s(length.length_tokens, static_cast<double>(length.n_samples), bound.packs_gpu_s);
  }
  // All stages of a pipeline are there as long as the one that is looked at.
  const EpochLimits limits{
      .n_gpus = plan_.n_gpus / plan_.pp_degree,
      .tokens_per_iteration = std::max<std::int64_t>({space_.tokens_per_iteration, longest_tokens, 1}),
      .step_s = stage.step_s};
  const EpochBound epoch = epoch_bound(samples, limits);
  const double gpus = plan_.n_gpus * static_cast<double>(space_.epochs);
  for (double& cause_s : bound.packs_gpu_s) cause_s *= plan_.pp_degree * static_cast<double>(space_.epochs);
  bound.gpu_s = gpus * epoch.time_s;
  bound.steps_gpu_s = gpus * epoch.steps_s;
  bound.waiting_gpu_s = gpus * epoch.waiting_s;
  bound.iterations = space_.epochs * epoch.iterations;
  return bound;
}

}  // namespace packsim
