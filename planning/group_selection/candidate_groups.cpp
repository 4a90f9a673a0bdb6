#include "planning/group_selection/candidate_groups.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "models/step/step_pricer.hpp"
#include "sim/run/plan_cost.hpp"

namespace packsim {

std::int64_t most_tokens_that_fit(const Job& job, const ParallelPlan& plan, std::int64_t most,
                                  int n_micro_batches) {
  const MemoryAssumptions assumptions = memory_assumptions(job.factors);
  const double margin = memory_margin(plan, assumptions);
  const PlanMemory memory(job.model, job.cluster, plan, assumptions);
  const auto is_there_room = [&](std::int64_t tokens_per_gpu) {
    // This tries as many micro-batches as stages, and twice as many where a pipeline then holds more. Only a
    // pipeline that holds all micro-batches of a step would hold more still. Their number is not known yet,
    // so the plan is checked again once it is.
    const auto in_flight = [&](int rounds) {
      return plan.schedule().chunks_in_flight(plan.pipeline_shape(rounds * plan.pp_degree), 0);
    };
    const int full = in_flight(2) > in_flight(1) ? 2 * plan.pp_degree : plan.pp_degree;
    return fits(
        job.cluster,
        memory.peak(static_cast<double>(tokens_per_gpu), n_micro_batches > 0 ? n_micro_batches : full),
        margin);
  };
  std::int64_t fitting = 0;
  std::int64_t too_many = most + 1;
  while (too_many - fitting > 1) {
    const std::int64_t middle = fitting + (too_many - fitting) / 2;
    (is_there_room(middle) ? fitting : too_many) = middle;
  }
  return fitting;
}

std::vector<SequenceParallelism> ways_to_share(const Job& job, ParallelPlan plan) {
  std::vector<SequenceParallelism> ways;
  const int most = plan.state_gpus();
  for (int degree = 1; degree <= most; ++degree) {
    if (most % degree != 0) continue;
    for (int ulysses = std::min(degree, job.model.n_heads); ulysses >= 1; --ulysses) {
      if (degree % ulysses != 0) continue;
      plan.sequence = {.ulysses = ulysses, .ring = degree / ulysses};
      if (plan_mistakes(job.model, job.cluster, plan).empty() &&
          trainer_mistakes(job.trainer, job.model, plan).empty())
        ways.push_back(plan.sequence);
    }
  }
  return ways;
}

std::vector<SequenceParallelism> ways_to_try(const Job& job, const ParallelPlan& plan) {
  const std::vector<SequenceParallelism> all = ways_to_share(job, plan);
  std::vector<SequenceParallelism> ways;
  bool has_one_of_node = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int gpus = all[i].gpus_per_pack();
    const bool is_first = i == 0 || all[i - 1].gpus_per_pack() != gpus;
    const bool is_last = i + 1 == all.size() || all[i + 1].gpus_per_pack() != gpus;
    if (is_first) has_one_of_node = false;
    const bool is_in_node = all[i].ulysses * plan.tp_degree <= job.cluster.gpus_per_node;
    if (is_first || is_last || (is_in_node && !has_one_of_node)) ways.push_back(all[i]);
    has_one_of_node = has_one_of_node || is_in_node;
  }
  return ways;
}

namespace {

constexpr std::int64_t kFewTokens = 64;

// The candidate of the pricer's plan. of_short: the cost of packs with few tokens on each GPU.
CandidateGroup make_candidate(StepPricer& pricer, const ParallelPlan& plan, std::int64_t capacity_tokens,
                              const PlanCost& of_short) {
  const int gpus = plan.sequence_gpus();
  const PlanCost cost = plan_cost(pricer, capacity_tokens);
  return {.plan = plan,
          .group = {.capacity_tokens = capacity_tokens,
                    .gpus_per_pack = gpus / plan.tp_degree,
                    .cost = cost.pack},
          .step_s = cost.step_s,
          .short_pack_s = of_short.pack.tokens_s.at(kFewTokens * gpus),
          .short_step_s = of_short.step_s};
}

// A way in which GPUs share packs: its candidates have 0 and more checkpointed layers. Each is priced when it
// is asked for.
class SharingWay {
 public:
  SharingWay(const Job& job, ParallelPlan plan, const CandidateLimits& limits,
             std::shared_ptr<PriceStore> store)
      : pricer_(job.model, job.cluster, plan, job.hardware, job.factors, std::move(store)) {
    const int depth = std::max(1, (job.model.n_layers + limits.most_depths - 2) / (limits.most_depths - 1));
    const int gpus = plan.sequence_gpus();
    const std::int64_t longest_pack =
        std::max(limits.longest_tokens, limits.share_tokens * (gpus / plan.tp_degree));
    const std::int64_t most = (longest_pack + gpus - 1) / gpus;
    std::int64_t before = 0;
    plan.gc_layers = 0;
    for (int gc_layers = 0; before < most; gc_layers += depth) {
      plan.gc_layers = trainer_layers(job.trainer, job.model, plan, std::min(gc_layers, job.model.n_layers));
      const std::int64_t tokens = most_tokens_that_fit(job, plan, most);
      if (tokens > before) depths_.push_back({plan, tokens * gpus});
      before = std::max(before, tokens);
      if (gc_layers >= job.model.n_layers) break;
    }
  }

  // Whether this way takes less than another for the longest sample that both hold, or holds longer ones.
  bool is_better_than(SharingWay& other, std::int64_t longest_tokens) {
    if (depths_.empty() || other.depths_.empty()) return !depths_.empty();
    const std::int64_t held = std::min(longest_tokens, depths_.back().capacity_tokens);
    const std::int64_t other_held = std::min(longest_tokens, other.depths_.back().capacity_tokens);
    if (held != other_held) return held > other_held;
    const auto length = static_cast<std::int32_t>(held);
    return sample_s(length) < other.sample_s(length);
  }

  // In ascending order of capacity.
  std::vector<CandidateGroup> candidates() {
    std::vector<CandidateGroup> candidates;
    for (Depth& depth : depths_) candidates.push_back(priced(depth));
    return candidates;
  }

 private:
  struct Depth {
    ParallelPlan plan;
    std::int64_t capacity_tokens = 0;
    std::optional<CandidateGroup> priced = {};
  };

  const CandidateGroup& priced(Depth& depth) {
    if (!short_) {
      pricer_.set_gc_layers(0);
      short_ = plan_cost(pricer_, kFewTokens * depth.plan.sequence_gpus());
    }
    pricer_.set_gc_layers(depth.plan.gc_layers);
    if (!depth.priced) depth.priced = make_candidate(pricer_, depth.plan, depth.capacity_tokens, *short_);
    return *depth.priced;
  }

  // Time of one sample in a pack of the first candidate that holds it.
  double sample_s(std::int32_t length_tokens) {
    const auto holds = [&](const Depth& depth) { return depth.capacity_tokens >= length_tokens; };
    return pack_time_s(priced(*std::ranges::find_if(depths_, holds)).group.cost, {&length_tokens, 1});
  }

  StepPricer pricer_;
  std::optional<PlanCost> short_;  // of packs with few tokens on each GPU
  std::vector<Depth> depths_;      // in ascending order of capacity
};

}  // namespace

CandidateGroup candidate_group(const Job& job, const ParallelPlan& plan, std::int64_t capacity_tokens,
                               std::shared_ptr<PriceStore> store) {
  StepPricer pricer(job.model, job.cluster, plan, job.hardware, job.factors, std::move(store));
  const PlanCost of_short = plan_cost(pricer, kFewTokens * plan.sequence_gpus());
  return make_candidate(pricer, plan, capacity_tokens, of_short);
}

std::vector<CandidateGroup> candidate_groups(const Job& job, const ParallelPlan& plan,
                                             const CandidateLimits& limits,
                                             std::shared_ptr<PriceStore> store) {
  std::vector<CandidateGroup> candidates;
  if (!store) store = std::make_shared<PriceStore>(job.hardware, job.cluster);
  const std::vector<SequenceParallelism> ways = ways_to_try(job, plan);
  for (auto first = ways.begin(); first != ways.end();) {
    const int degree = first->gpus_per_pack();
    const auto end = std::find_if(
        first, ways.end(), [&](const SequenceParallelism& one) { return one.gpus_per_pack() != degree; });
    std::unique_ptr<SharingWay> best;
    for (; first != end; ++first) {
      ParallelPlan plan_of_way = plan;
      plan_of_way.sequence = *first;
      auto way = std::make_unique<SharingWay>(job, plan_of_way, limits, store);
      if (!best || way->is_better_than(*best, limits.longest_tokens)) best = std::move(way);
    }
    std::ranges::move(best->candidates(), std::back_inserter(candidates));
  }
  std::ranges::stable_sort(candidates, {},
                           [](const CandidateGroup& candidate) { return candidate.group.capacity_tokens; });
  return candidates;
}

}  // namespace packsim
