#include "planning/group_selection/candidate_groups.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "models/step/step_pricer.hpp"
#include "sim/run/plan_cost.hpp"

namespace packsim {

std::int64_t most_tokens_that_fit(const Job& job, const ParallelPlan& plan, std::int64_t most,
                                  int n_micro_batches) {
  const MemoryAssumptions assumptions{
      .reserved_bytes = job.factors.reserved_bytes,
      .logits_bytes_per_vocab_entry = job.factors.logits_bytes_per_vocab_entry};
  const auto is_there_room = [&](std::int64_t tokens_per_gpu) {
    // As many micro-batches as stages, and twice as many where a pipeline then holds more. Only one that
    // holds all of a step would hold more still, and how many these are is not known yet: the plan is checked
    // again once it is.
    const auto in_flight = [&](int rounds) {
      return plan.schedule().chunks_in_flight(plan.pipeline_shape(rounds * plan.pp_degree), 0);
    };
    const int full = in_flight(2) > in_flight(1) ? 2 * plan.pp_degree : plan.pp_degree;
    return fits(job.cluster,
                peak_memory(job.model, job.cluster, plan, assumptions, static_cast<double>(tokens_per_gpu),
                            n_micro_batches > 0 ? n_micro_batches : full));
  };
  std::int64_t fitting = 0;
  std::int64_t too_many = most + 1;
  while (too_many - fitting > 1) {
    const std::int64_t middle = fitting + (too_many - fitting) / 2;
    (is_there_room(middle) ? fitting : too_many) = middle;
  }
  return fitting;
}

namespace {

// So many GPUs share a pack by Ulysses, or, where that cannot be, by as much of it as can be and a ring; none
// where neither can.
std::optional<ParallelPlan> plan_of_degree(const Job& job, ParallelPlan plan, int degree) {
  for (plan.sequence.ulysses = degree; plan.sequence.ulysses >= 1; plan.sequence.ulysses /= 2) {
    plan.sequence.ring = degree / plan.sequence.ulysses;
    if (plan_mistakes(job.model, job.cluster, plan).empty()) return plan;
  }
  return std::nullopt;
}

}  // namespace

std::vector<CandidateGroup> candidate_groups(const Job& job, const ParallelPlan& plan,
                                             const CandidateLimits& limits) {
  std::vector<CandidateGroup> candidates;
  const int depth = std::max(1, (job.model.n_layers + limits.most_depths - 2) / (limits.most_depths - 1));
  const int most_degree = plan.n_gpus / (plan.tp_degree * plan.pp_degree);
  const auto kernels = std::make_shared<KernelPricer>(job.hardware, job.cluster);
  for (int degree = 1; degree <= most_degree; degree *= 2) {
    std::optional<ParallelPlan> allowed = plan_of_degree(job, plan, degree);
    if (!allowed) continue;
    ParallelPlan& candidate = *allowed;
    // More GPUs than heads hold a sample that fewer do not, or that is long enough to be worth a ring's
    // price.
    constexpr std::int64_t kRingTokens = 4096;
    const bool is_held =
        !candidates.empty() && candidates.back().group.capacity_tokens >= limits.longest_tokens;
    if (candidate.sequence.ring > 1 && is_held && limits.longest_tokens < kRingTokens * degree) continue;
    candidate.gc_layers = 0;
    const int gpus = candidate.sequence_gpus();
    const std::int64_t longest_pack =
        std::max(limits.longest_tokens, limits.share_tokens * (gpus / candidate.tp_degree));
    const std::int64_t most = (longest_pack + gpus - 1) / gpus;
    StepPricer pricer(job.model, job.cluster, candidate, job.hardware, job.factors, kernels);
    std::int64_t before = 0;
    for (int gc_layers = 0; before < most; gc_layers += depth) {
      candidate.gc_layers = std::min(gc_layers, job.model.n_layers);
      const std::int64_t tokens = most_tokens_that_fit(job, candidate, most);
      if (tokens > before) {
        pricer.set_gc_layers(candidate.gc_layers);
        const PlanCost cost = plan_cost(pricer, tokens * gpus);
        candidates.push_back({.plan = candidate,
                              .group = {.capacity_tokens = tokens * gpus,
                                        .gpus_per_pack = gpus / candidate.tp_degree,
                                        .cost = cost.pack},
                              .step_s = cost.step_s});
        before = tokens;
      }
      if (gc_layers >= job.model.n_layers) break;
    }
  }
  std::ranges::stable_sort(candidates, {},
                           [](const CandidateGroup& candidate) { return candidate.group.capacity_tokens; });
  return candidates;
}

}  // namespace packsim
