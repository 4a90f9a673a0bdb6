#include "experiment/trace_memory.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "experiment/plans/plan_group.hpp"

namespace packsim {
namespace {

// When the optimizer of a lane steps: from the first of its operations to the last.
struct OptimizerStep {
  SimTime start;
  SimTime end;
};

std::map<std::uint32_t, OptimizerStep> optimizer_steps(const TracedStep& step) {
  std::map<std::uint32_t, OptimizerStep> steps;
  for (const TracedOp& op : step.ops) {
    if (op.cause != Cause::optimizer || op.end == op.start) continue;
    const auto [found, is_new] = steps.try_emplace(op.rank, OptimizerStep{op.start, op.end});
    found->second.start = std::min(found->second.start, op.start);
    found->second.end = std::max(found->second.end, op.end);
  }
  return steps;
}

// The memory of each group's plan.
std::vector<PlanMemory> plan_memories(const Scenario& scenario, const PlannedStrategy& plan) {
  std::vector<PlanMemory> memories;
  for (const ParallelPlan& group : plan.plans)
    memories.emplace_back(scenario.model, scenario.cluster, group, memory_assumptions(scenario));
  return memories;
}

class LaneMemory {
 public:
  LaneMemory(const PlannedStrategy& plan, std::span<const PlanMemory> memories,
             std::span<const PlacedPack> packs, std::vector<TracedMemory>& traced)
      : plan_(plan), memories_(memories), packs_(packs), traced_(traced) {}

  void trace(std::uint32_t lane, int stage, std::span<const TracedPass* const> passes, SimTime start,
             const OptimizerStep* optimizer) {
    lane_ = lane;
    stage_ = stage;
    held_.clear();
    // The states of all are those of the rank's first plan, as in the simulated step.
    states_ = &memories_[passes.empty() ? packs_.front().group : group_of(*passes.front())];
    add(start, states_->at_rest(stage_));
    for (const TracedPass* pass : passes) add_pass(*pass);
    if (!passes.empty()) add(passes.back()->end, states_->at_rest(stage_));
    if (optimizer == nullptr) return;
    add(optimizer->start, states_->at_optimizer_step(stage_));
    add(optimizer->end, states_->at_rest(stage_));
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // micro-batch, chunk

  std::uint32_t group_of(const TracedPass& pass) const {
    return pass.pack == IterationRanks::kNoPack ? packs_.front().group : packs_[pass.pack].group;
  }
  // Tokens of the pass on each of the GPUs that share it, between the blocks of the model.
  double tokens_of(const TracedPass& pass) const {
    if (pass.pack == IterationRanks::kNoPack) return 0;
    const PlacedPack& placed = packs_[pass.pack];
    const MicroBatch& batch = plan_.batches[placed.group][placed.pack];
    return static_cast<double>(batch.tokens + batch.padded_tokens) /
           plan_.plans[placed.group].sequence_gpus();
  }
  MemoryPeak now() const {
    MemoryPeak memory = states_->between_passes(stage_);
    for (const auto& [key, kept] : held_) memory += kept;
    return memory;
  }
  void add_pass(const TracedPass& pass) {
    const PlanMemory& memory = memories_[group_of(pass)];
    const int chunk = static_cast<int>(pass.chunk) / plan_.plans[group_of(pass)].pp_degree;
    const Key key{pass.micro_batch, pass.chunk};
    if (pass.is_forward) {
      add(pass.start, now());
      held_[key] = memory.kept(stage_, chunk, tokens_of(pass));
    } else {
      add(pass.start, memory.backward_pass(stage_, chunk, tokens_of(pass), now()));
      held_.erase(key);
    }
    add(pass.end, now());
  }
  // The last value of a moment counts.
  void add(SimTime time, const MemoryPeak& held) {
    if (!traced_.empty() && traced_.back().lane == lane_ && traced_.back().time == time) traced_.pop_back();
    traced_.push_back({.lane = lane_, .time = time, .held = held});
  }

  const PlannedStrategy& plan_;
  std::span<const PlanMemory> memories_;
  std::span<const PlacedPack> packs_;
  std::vector<TracedMemory>& traced_;
  std::uint32_t lane_ = 0;
  int stage_ = 0;
  const PlanMemory* states_ = nullptr;
  std::map<Key, MemoryPeak> held_;
};

}  // namespace

std::vector<TracedMemory> trace_memory(const Scenario& scenario, const PlannedStrategy& plan,
                                       std::size_t iteration, const TracedStep& step) {
  const std::vector<PlanMemory> memories = plan_memories(scenario, plan);
  const std::map<std::uint32_t, OptimizerStep> optimizers = optimizer_steps(step);
  std::vector<std::vector<const TracedPass*>> passes(step.lanes.size());
  for (const TracedPass& pass : step.passes) passes[pass.lane].push_back(&pass);
  std::vector<TracedMemory> traced;
  LaneMemory memory(plan, memories, plan.schedule.packs(plan.schedule.iterations[iteration]), traced);
  for (std::uint32_t lane = 0; lane < step.lanes.size(); ++lane) {
    const auto optimizer = optimizers.find(lane);
    memory.trace(lane, step.lanes[lane].stage, passes[lane], step.start,
                 optimizer == optimizers.end() ? nullptr : &optimizer->second);
  }
  return traced;
}

}  // namespace packsim
