#include "planning/bound/lower_bound.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "models/step/pass/pass_time.hpp"
#include "planning/bound/pass_units.hpp"

namespace packsim {
namespace {

// The fewest micro-batches that a rank may have in a step.
int fewest_micro_batches(const ParallelPlan& plan) {
  return plan.schedule().needs_full_rounds ? plan.pp_degree : 1;
}

// The least time that a chunk takes to add up gradients.
double least_sums_s(StepPricer& pricer) {
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
  for (int chunk = 0; chunk < pricer.plan().n_chunks(); ++chunk) {
    std::int64_t sums_ns = 0;
    for (const StateUnit& unit : pricer.states(chunk).units) sums_ns += unit.sum_ns;
    least_ns = std::min(least_ns, sums_ns);
  }
  return 1e-9 * static_cast<double>(least_ns);
}

}  // namespace

LowerBounds::LowerBounds(const Job& job, const ParallelPlan& plan, const BoundSpace& space,
                         std::shared_ptr<PriceStore> store, const Offload& most_offload)
    : job_(job),
      plan_(plan),
      space_(space),
      store_(store ? std::move(store) : std::make_shared<PriceStore>(job.hardware, job.cluster)),
      most_offload_(plan.offload | most_offload) {
  plan_.memory_margin =
      std::min(plan.memory_margin, least_memory_margin(plan, memory_assumptions(job.factors)));
  const Job any_trainer{job.model, job.cluster, job.hardware, job.factors};
  std::ranges::copy(ways_to_share(any_trainer, plan), std::back_inserter(space_.sequences));
  std::ranges::sort(space_.sequences);
  space_.sequences.erase(std::ranges::unique(space_.sequences).begin(), space_.sequences.end());
  std::erase_if(space_.sequences, [&](const SequenceParallelism& sequence) {
    return !plan_mistakes(job.model, job.cluster, plan_of(plan.zero_stage, sequence)).empty();
  });
  for (const SequenceParallelism& sequence : space_.sequences) {
    pricers_.push_back(std::make_unique<StepPricer>(
        job.model, job.cluster, plan_of(plan.zero_stage, sequence), job.hardware, job.factors, store_));
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

// The pipeline stage that computes longest. A bound of any stage is valid; this one's is about the highest.
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

LowerBounds::Floors LowerBounds::floors(int zero_stage, const PackFloorSetting& setting) {
  Floors floors;
  for (std::size_t i = 0; i < pricers_.size(); ++i) {
    PackFloorSetting own = setting;
    own.plan = plan_of(zero_stage, space_.sequences[i]);
    own.plan.offload = most_offload_;
    own.stage = pipeline_stage_;
    own.most_tokens = space_.most_pack_tokens;
    floors.emplace_back(job_, *pricers_[i], own);
  }
  return floors;
}

// Prices what steps do with weights, gradients and optimizer states, which are shared alike at all degrees.
StepPricer LowerBounds::states(int zero_stage) const {
  return {job_.model,    job_.cluster, plan_of(zero_stage, space_.sequences.front()),
          job_.hardware, job_.factors, store_};
}

LowerBounds::Stage& LowerBounds::stage(int zero_stage) {
  const auto [place, is_new] = stages_.try_emplace(zero_stage);
  Stage& stage = place->second;
  if (!is_new || pricers_.empty()) return stage;
  const ParallelPlan first = plan_of(zero_stage, space_.sequences.front());
  if (!plan_mistakes(job_.model, job_.cluster, first).empty()) return stage;
  StepPricer states = this->states(zero_stage);
  const StepFloor step = step_floor(states, pipeline_stage_);
  // The first of a step's packs on each GPU adds up nothing, which is taken off the step. If it is more than
  // the rest of the step, no sums count.
  const double sums_s = step.step_s >= step.sums_s ? step.sums_s : 0;
  stage.step_s = step.step_s - sums_s;
  stage.floors = floors(zero_stage, {.plan = plan_,
                                     .n_micro_batches = fewest_micro_batches(plan_),
                                     .sums_s = sums_s,
                                     .states_s = step.pack_s});
  return stage;
}

const LowerBounds::Filling& LowerBounds::filling(int zero_stage) {
  std::optional<Filling>& filling = stage(zero_stage).filling;
  if (filling) return *filling;
  StepPricer states = this->states(zero_stage);
  // All layers are checkpointed here.
  std::vector<StepPricer*> pricers;
  std::vector<std::int64_t> most_tokens;
  for (std::size_t i = 0; i < pricers_.size(); ++i) {
    ParallelPlan plan = plan_of(zero_stage, space_.sequences[i]);
    plan.gc_layers = job_.model.n_layers;
    plan.offload = most_offload_;
    pricers.push_back(pricers_[i].get());
    most_tokens.push_back(
        most_tokens_that_fit(job_, plan, space_.most_pack_tokens, fewest_micro_batches(plan)) + 1);
  }
  const auto floors_with = [&](int n_micro_batches) {
    return floors(zero_stage, {.plan = plan_, .n_micro_batches = n_micro_batches, .counts_overhead = false});
  };
  const double overhead_s =
      1e-9 * static_cast<double>(states.micro_batch(states.plan().sequence_gpus(), {}).overhead_ns);
  return filling.emplace(Filling{.full = floors_with(plan_.pp_degree),
                                 .one_only = fewest_micro_batches(plan_) == 1 ? floors_with(1) : Floors{},
                                 .costs = {.forward_s = overhead_s, .later_backward_s = least_sums_s(states)},
                                 .chunk_shares = chunk_shares(pricers, most_tokens, pipeline_stage_),
                                 // A step ends with a backward pass of the first stage.
                                 .step_s = step_floor(states, 0).step_s});
}

std::optional<LowerBounds::Samples> LowerBounds::cheapest(std::span<const LengthCount> lengths,
                                                          std::span<const Ways> ways) {
  constexpr double kInfinite_s = std::numeric_limits<double>::infinity();
  Samples samples;
  for (const LengthCount& length : lengths) {
    SampleFloor& sample = samples.floors.emplace_back(SampleFloor{.length_tokens = length.length_tokens,
                                                                  .n_samples = length.n_samples,
                                                                  .gpu_s = kInfinite_s,
                                                                  .alone_s = kInfinite_s});
    const PackFloor* cheapest = nullptr;
    double factor = 1;
    for (const Ways& way : ways) {
      for (const PackFloor& floor : way.floors) {
        if (!floor.holds(length.length_tokens)) continue;
        sample.alone_s = std::min(sample.alone_s, floor.alone_s(length.length_tokens));
        const double gpu_s = way.factor * floor.gpu_s(length.length_tokens);
        if (gpu_s >= sample.gpu_s) continue;
        sample.gpu_s = gpu_s;
        factor = way.factor;
        cheapest = &floor;
      }
    }
    if (cheapest == nullptr) return std::nullopt;
    cheapest->add_gpu_s(length.length_tokens, factor * static_cast<double>(length.n_samples),
                        samples.by_cause_s);
  }
  return samples;
}

// All stages of a pipeline take as long as the one that is bounded.
LowerBound LowerBounds::bound_of(const EpochBound& epoch, const SecondsByCause& packs_s) const {
  const double gpus = plan_.n_gpus * static_cast<double>(space_.epochs);
  LowerBound bound{.gpu_s = gpus * epoch.time_s,
                   .packs_gpu_s = packs_s,
                   .steps_gpu_s = gpus * epoch.steps_s,
                   .waiting_gpu_s = gpus * epoch.waiting_s,
                   .iterations = space_.epochs * epoch.iterations};
  for (double& cause_s : bound.packs_gpu_s) cause_s *= plan_.pp_degree * static_cast<double>(space_.epochs);
  bound.packs_gpu_s[static_cast<std::size_t>(Cause::overhead)] += gpus * epoch.fixed_s;
  return bound;
}

std::vector<PassTimes> LowerBounds::units(std::span<const LengthCount> lengths, const Floors& floors) {
  std::vector<PassTimes> units;
  for (const LengthCount& length : lengths) {
    double least_s = std::numeric_limits<double>::infinity();
    for (const PackFloor& floor : floors) {
      if (floor.holds(length.length_tokens)) least_s = std::min(least_s, floor.gpu_s(length.length_tokens));
    }
    for (const PackFloor& floor : floors) {
      if (floor.holds(length.length_tokens)) floor.add_units(length.length_tokens, least_s, units);
    }
  }
  return least_passes(std::move(units));
}

std::optional<LowerBound> LowerBounds::filled(const Filling& filling, std::span<const LengthCount> lengths,
                                              EpochLimits limits) const {
  const PipelineWork work{.chunks = filling.chunk_shares,
                          .full_units = units(lengths, filling.full),
                          .short_units = units(lengths, filling.one_only)};
  if (work.full_units.empty()) return std::nullopt;
  const PipelineSteps steps = pipeline_steps(plan_, work, filling.costs);
  const std::vector<Ways> ways = {{filling.full, 1}, {filling.one_only, steps.short_factor}};
  std::optional<Samples> samples = cheapest(lengths, ways);
  if (!samples) return std::nullopt;
  limits.step_s = filling.step_s;
  const LowerBound filled = bound_of(epoch_bound(samples->floors, limits, steps.lines), samples->by_cause_s);
  for (SampleFloor& sample : samples->floors) sample.alone_s *= steps.alone_factor;
  const LowerBound waiting = bound_of(epoch_bound(samples->floors, limits), samples->by_cause_s);
  return filled.gpu_s >= waiting.gpu_s ? filled : waiting;
}

EpochLimits LowerBounds::limits_of(const Stage& stage, std::span<const LengthCount> lengths) const {
  EpochLimits limits{.n_gpus = plan_.n_gpus / plan_.pp_degree,
                     .tokens_per_iteration = std::max<std::int64_t>(space_.tokens_per_iteration, 1),
                     .mean_tokens_per_iteration = space_.mean_tokens_per_iteration,
                     .step_s = stage.step_s};
  for (const LengthCount& length : lengths)
    limits.tokens_per_iteration = std::max<std::int64_t>(limits.tokens_per_iteration, length.length_tokens);
  return limits;
}

double LowerBounds::gpu_s_without_recomputation(int zero_stage, std::span<const LengthCount> lengths) {
  constexpr double kInfinite_s = std::numeric_limits<double>::infinity();
  const Stage& stage = this->stage(zero_stage);
  std::vector<SampleFloor> samples;
  for (const LengthCount& length : lengths) {
    SampleFloor& sample = samples.emplace_back(SampleFloor{.length_tokens = length.length_tokens,
                                                           .n_samples = length.n_samples,
                                                           .gpu_s = kInfinite_s,
                                                           .alone_s = 0});
    for (const PackFloor& floor : stage.floors) {
      if (floor.holds(length.length_tokens))
        sample.gpu_s = std::min(sample.gpu_s, floor.gpu_s_without_recomputation(length.length_tokens));
    }
    if (sample.gpu_s == kInfinite_s) return kInfinite_s;
  }
  return bound_of(epoch_bound(samples, limits_of(stage, lengths)), {}).gpu_s;
}

std::optional<LowerBound> LowerBounds::at(int zero_stage, std::span<const LengthCount> lengths,
                                          double enough_gpu_s) {
  const Stage& stage = this->stage(zero_stage);
  const std::vector<Ways> ways = {{stage.floors, 1}};
  const std::optional<Samples> samples = cheapest(lengths, ways);
  if (!samples) return std::nullopt;
  const EpochLimits limits = limits_of(stage, lengths);
  LowerBound bound = bound_of(epoch_bound(samples->floors, limits), samples->by_cause_s);
  if (plan_.pp_degree > 1 && bound.gpu_s < enough_gpu_s) {
    const std::optional<LowerBound> filled = this->filled(filling(zero_stage), lengths, limits);
    if (filled && filled->gpu_s > bound.gpu_s) bound = *filled;
  }
  bound.zero_stage = zero_stage;
  return bound;
}

}  // namespace packsim
