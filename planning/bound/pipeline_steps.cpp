#include "planning/bound/pipeline_steps.hpp"

#include <algorithm>
#include <numeric>

namespace packsim {
namespace {

// Only the reference stage is looked at with more micro-batches than this, or if filling takes less than this
// part of the work.
constexpr int kMostStepMicroBatches = 128;
constexpr double kLeastFilling = 0.002;

class StepLines {
 public:
  StepLines(const ParallelPlan& plan, const PipelineWork& work, const PassCosts& costs)
      : plan_(plan), work_(work), costs_(costs) {}

  StepLine with(int n_micro_batches) const {
    const bool is_full = n_micro_batches >= plan_.pp_degree;
    const PipelineChain chain =
        pipeline_chain(plan_.schedule(), plan_.pipeline_shape(n_micro_batches),
                       {.chunks = work_.chunks, .units = is_full ? work_.full_units : work_.short_units});
    if (chain.work < 1) return reference(n_micro_batches);
    return {
        .work = chain.work,
        .fixed_s = chain.n_forwards * costs_.forward_s + chain.n_later_backwards * costs_.later_backward_s};
  }

  // The line of the reference stage alone.
  StepLine reference(int n_micro_batches) const {
    const double n_passes = n_micro_batches * plan_.virtual_stages;
    return {
        .work = 1,
        .fixed_s = n_passes * costs_.forward_s + (n_passes - plan_.virtual_stages) * costs_.later_backward_s};
  }

 private:
  const ParallelPlan& plan_;
  const PipelineWork& work_;
  const PassCosts& costs_;
};

}  // namespace

PipelineSteps pipeline_steps(const ParallelPlan& plan, const PipelineWork& work, const PassCosts& costs) {
  const StepLines lines(plan, work, costs);
  const int p = plan.pp_degree;
  const bool fills_rounds = plan.schedule().needs_full_rounds;
  PipelineSteps steps{.alone_factor = std::accumulate(work.chunks.begin(), work.chunks.end(), 0.0)};
  int n = p;
  do {
    steps.lines.push_back(lines.with(n));
    n += fills_rounds ? p : 1;
  } while (n <= kMostStepMicroBatches && steps.lines.back().work > 1 + kLeastFilling);
  steps.lines.push_back(lines.reference(n));
  if (fills_rounds) return steps;
  StepLine least = lines.with(1);
  for (int few = 2; few < p; ++few) {
    const StepLine line = lines.with(few);
    least = {std::min(least.work, line.work), std::min(least.fixed_s, line.fixed_s)};
  }
  const double full = steps.lines.front().work;
  steps.short_factor = least.work / full;
  steps.lines.push_back({.work = full, .fixed_s = least.fixed_s});
  return steps;
}

}  // namespace packsim
