#include "sim/run/plain_steps.hpp"

#include <algorithm>

#include "models/state_traffic.hpp"
#include "sim/step/expert_sync.hpp"

namespace packsim {
namespace {

// Times of a step that follow its plan alone.
struct PlanTimes {
  std::int64_t reductions_ns = 0;  // of all gradients
  std::int64_t gathers_ns = 0;     // of the weights that the optimizer has changed
  std::int64_t sums_ns = 0;        // of the gradients of a micro-batch and those before it
};

PlanTimes times_of(const PricedPlan& plan) {
  PlanTimes times;
  for (const StateUnit& unit : plan.states.front().units) {
    times.reductions_ns += unit.reduce_ns;
    if (gathers_after_optimizer(plan.plan)) times.gathers_ns += unit.gather_ns;
    times.sums_ns += unit.sum_ns;
  }
  return times;
}

bool is_plain(const RankWork& rank, const PricedPlan* plan) {
  return rank.plan == plan && !rank.micro_batches.empty() && rank.places.empty() &&
         rank.sync_points.empty() && rank.stage_slow_down.empty() && rank.pass_slow_down.empty();
}

// Whether ranks of this plan do all by themselves until they reduce gradients.
bool meets_at_end(const ParallelPlan& plan) {
  return plan.pp_degree == 1 && ranks_of_experts(plan) == 1 && reduces_after_backward(plan) &&
         !gathers_in_forward(plan) && !gathers_every_pass(plan);
}

}  // namespace

const WorkTime& PlainSteps::micro_batch_time(const MicroBatchPrice& price, const ChunkShape& chunk) {
  const auto [known, is_new] = times_.try_emplace(&price);
  if (is_new) {
    known->second = forward_time(price, chunk);
    known->second += backward_time(price, chunk);
  }
  return known->second;
}

const PlainStep* PlainSteps::find(std::span<const RankWork> ranks) {
  const PricedPlan* plan = ranks.front().plan;
  if (plan->chunks.size() != 1 || !meets_at_end(plan->plan)) return nullptr;
  if (!std::ranges::all_of(ranks, [&](const RankWork& rank) { return is_plain(rank, plan); })) return nullptr;
  const PlanTimes times = times_of(*plan);
  if (times.reductions_ns == 0) return nullptr;  // the ranks would not meet

  const StatesPrice& states = plan->states.front();
  step_.work.resize(ranks.size());
  step_.accounts.assign(ranks.size(), {});
  std::int64_t slowest_ns = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    WorkTime& work = step_.work[r];
    work = {};
    for (const MicroBatchPrice* price : ranks[r].micro_batches)
      work += micro_batch_time(*price, plan->chunks.front());
    work.add(Cause::linear, times.sums_ns * (std::ssize(ranks[r].micro_batches) - 1));
    slowest_ns = std::max(slowest_ns, work.total_ns);
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    WorkTime& work = step_.work[r];
    RankAccount& account = step_.accounts[r];
    account.idle = SimTime{slowest_ns - work.total_ns};
    account.exposed[static_cast<std::size_t>(Cause::states)] =
        SimTime{times.reductions_ns + times.gathers_ns};
    work.add(Cause::optimizer, states.optimizer_ns);
    work.add(Cause::overhead, states.step_ns);
    account.busy[static_cast<std::size_t>(Cause::linear)] = SimTime{work.total_ns};
  }
  step_.time_ns = slowest_ns + times.reductions_ns + states.optimizer_ns + times.gathers_ns + states.step_ns;
  return &step_;
}

}  // namespace packsim
