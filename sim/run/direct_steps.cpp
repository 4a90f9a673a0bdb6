#include "sim/run/direct_steps.hpp"

#include <algorithm>
#include <array>

#include "models/state_traffic.hpp"
#include "sim/step/expert_sync.hpp"

namespace packsim {
namespace {

bool is_alone(const RankWork& rank, const RankWork& first) {
  return rank.plan == first.plan && rank.micro_batches.size() == first.micro_batches.size() &&
         rank.places.empty() && rank.sync_points.empty() && rank.stage_slow_down.empty() &&
         rank.pass_slow_down.empty();
}

// Whether shards of weights or gradients are in host memory.
bool copies_states(const StatesPrice& states) {
  return std::ranges::any_of(states.units,
                             [](const StateUnit& unit) { return unit.fetch_ns > 0 || unit.drain_ns > 0; });
}

SimTime& of(TimeByCause& times, Cause cause) {
  return times[static_cast<std::size_t>(cause)];
}

// Of all layers of a unit. layer_ns: by has_experts and is_checkpointed.
using LayerTimes = std::array<std::array<std::int64_t, 2>, 2>;

std::int64_t layers_ns(const ChunkShape& chunk, const StateUnit& unit, const LayerTimes& layer_ns) {
  std::int64_t total_ns = 0;
  for (int i = unit.first_layer; i < unit.first_layer + unit.n_layers; ++i)
    total_ns += layer_ns[i >= chunk.n_dense ? 1 : 0][i < chunk.n_checkpointed ? 1 : 0];
  return total_ns;
}

}  // namespace

bool DirectSteps::is_direct(std::span<const RankWork> ranks) const {
  const RankWork& first = ranks.front();
  const ParallelPlan& plan = first.plan->plan;
  return first.plan->chunks.size() == 1 && plan.pp_degree == 1 && ranks_of_experts(plan) == 1 &&
         first.plan->states.front().replicas == 1 && !copies_states(first.plan->states.front()) &&
         !first.micro_batches.empty() &&
         std::ranges::all_of(ranks, [&](const RankWork& rank) { return is_alone(rank, first); });
}

const PlainStep* DirectSteps::find(std::span<const RankWork> ranks) {
  if (!is_direct(ranks)) return nullptr;
  begin(ranks);
  for (std::size_t micro_batch = 0; micro_batch < ranks.front().micro_batches.size(); ++micro_batch) {
    forward(micro_batch);
    backward(micro_batch);
  }
  wait_for_gradients();
  finish();
  return &step_;
}

void DirectSteps::begin(std::span<const RankWork> ranks) {
  ranks_ = ranks;
  plan_ = ranks.front().plan;
  const ParallelPlan& plan = plan_->plan;
  traffic_ = {.overlaps = plan.execution.overlaps_states,
              .gathers_every_pass = gathers_every_pass(plan),
              .gathers_in_forward = gathers_in_forward(plan),
              .reduces_every_micro_batch = reduces_every_micro_batch(plan),
              .reduces_at_end = reduces_after_backward(plan),
              .reduces_after_next_gather = reduces_after_next_gather(plan),
              .has_two_buckets = reduces_from_two_buckets(plan)};
  n_held_back_ = n_reduced_ = 0;
  lanes_.resize(ranks.size());
  // In each pass, a unit has at most a gather, a reduction, and three operations of computation.
  const std::size_t n_passes = 2 * ranks.front().micro_batches.size();
  const std::size_t most_ops = 16 + 5 * n_passes * (1 + plan_->states.front().units.size());
  for (Lane& lane : lanes_) {
    if (lane.ops.size() < most_ops) lane.ops.resize(most_ops);
    lane.n_ops = lane.n_waits = 0;
    lane.last_compute = lane.last_transfer = lane.computed_before_gather = lane.computed = kNone;
    lane.last_may_grow = false;
    lane.work = {};
    lane.account = {};
  }
}

int DirectSteps::add(Lane& lane, const Op& op) {
  lane.ops[static_cast<std::size_t>(lane.n_ops)] = op;
  return lane.n_ops++;
}

// Its own stream waits for computation anyway.
void DirectSteps::wait_for(Lane& lane, int op) {
  if (op != kNone && !lane.ops[static_cast<std::size_t>(op)].is_compute())
    lane.waits[static_cast<std::size_t>(lane.n_waits++)] = op;
}

void DirectSteps::compute(Lane& lane, std::int64_t time_ns) {
  if (time_ns == 0 && lane.n_waits == 0) return;
  of(lane.account.busy, Cause::linear) += SimTime{time_ns};
  if (lane.n_waits == 0 && lane.last_may_grow) {
    lane.ops[static_cast<std::size_t>(lane.last_compute)].end_ns += time_ns;
    return;
  }
  const std::int64_t before_ns = end_of(lane, lane.last_compute);
  std::int64_t start_ns = before_ns;
  int last = lane.last_compute;
  for (int i = 0; i < lane.n_waits; ++i) {
    const int op = lane.waits[static_cast<std::size_t>(i)];
    const std::int64_t end_ns = end_of(lane, op);
    start_ns = std::max(start_ns, end_ns);
    if (last == kNone || end_ns > end_of(lane, last)) last = op;
  }
  if (start_ns > before_ns) explain(lane, last, before_ns, start_ns);
  lane.last_compute = add(
      lane, {.transfer_ns = start_ns, .end_ns = start_ns + time_ns, .previous = kCompute, .after = kNone});
  lane.last_may_grow = true;
  lane.n_waits = 0;
}

int DirectSteps::computed(Lane& lane) {
  if (lane.n_waits > 0) compute(lane, 0);
  lane.last_may_grow = false;
  return lane.last_compute;
}

// What a transfer waited for last.
int DirectSteps::waited_for(const Lane& lane, int op) {
  const Op& transfer = lane.ops[static_cast<std::size_t>(op)];
  const bool is_after =
      transfer.after != kNone &&
      (transfer.previous == kNone || end_of(lane, transfer.after) > end_of(lane, transfer.previous));
  return is_after ? transfer.after : transfer.previous;
}

// As Accountant::explain() (sim/engine/op_account.cpp).
void DirectSteps::explain(Lane& lane, int op, std::int64_t begin_ns, std::int64_t end_ns) {
  while (end_ns > begin_ns) {
    const Op& what = lane.ops[static_cast<std::size_t>(op)];
    if (what.is_compute()) {
      lane.account.idle += SimTime{end_ns - begin_ns};
      return;
    }
    const std::int64_t transfer_ns = std::max(begin_ns, what.transfer_ns);
    const std::int64_t start_ns = std::max({begin_ns, end_of(lane, what.previous), end_of(lane, what.after)});
    of(lane.account.exposed, Cause::states) += SimTime{end_ns - transfer_ns};
    lane.account.idle += SimTime{transfer_ns - start_ns};
    end_ns = start_ns;
    if (end_ns > begin_ns) op = waited_for(lane, op);
  }
}

template <typename AfterOf, typename Done>
void DirectSteps::join(std::int64_t time_ns, const AfterOf& after_of, const Done& done) {
  std::int64_t transfer_ns = 0;
  for (Lane& lane : lanes_) {
    const int after = after_of(lane);
    const std::int64_t start_ns = std::max(end_of(lane, lane.last_transfer), end_of(lane, after));
    transfer_ns = std::max(transfer_ns, start_ns);
    lane.last_transfer =
        add(lane, {.transfer_ns = 0, .end_ns = 0, .previous = lane.last_transfer, .after = after});
  }
  for (Lane& lane : lanes_) {
    Op& op = lane.ops[static_cast<std::size_t>(lane.last_transfer)];
    op.transfer_ns = transfer_ns;
    op.end_ns = transfer_ns + time_ns;
    done(lane, lane.last_transfer);
  }
}

void DirectSteps::gather_ahead(const StateUnit& unit) {
  const auto after_of = [&](Lane& lane) {
    lane.computed = computed(lane);
    if (traffic_.gathers_in_forward) return kNone;
    return traffic_.overlaps ? lane.computed_before_gather : lane.computed;
  };
  const auto done = [](Lane& lane, int gather) {
    wait_for(lane, gather);
    lane.computed_before_gather = lane.computed;
  };
  if (unit.gather_ns > 0) {
    join(unit.gather_ns, after_of, done);
  } else {
    for (Lane& lane : lanes_) lane.computed_before_gather = computed(lane);
  }
  send_held_back();
}

template <typename AfterOf>
void DirectSteps::send_reduction(std::int64_t time_ns, const AfterOf& after_of) {
  ++n_reduced_;
  const auto done = [](Lane& lane, int reduction) { lane.reduced = {lane.reduced[1], reduction}; };
  if (time_ns > 0) return join(time_ns, after_of, done);
  for (Lane& lane : lanes_) done(lane, kNone);
}

void DirectSteps::send_held_back() {
  for (std::size_t i = 0; i < n_held_back_; ++i)
    send_reduction(held_back_ns_[i], [&](const Lane& lane) { return lane.held_back[i]; });
  n_held_back_ = 0;
}

void DirectSteps::reduce(const StateUnit& unit) {
  if (unit.reduce_ns == 0) return;
  if (traffic_.reduces_after_next_gather) {
    for (Lane& lane : lanes_) lane.held_back[n_held_back_] = computed(lane);
    held_back_ns_[n_held_back_++] = unit.reduce_ns;
    return;
  }
  send_reduction(unit.reduce_ns, computed);
  if (traffic_.overlaps) return;
  for (Lane& lane : lanes_) wait_for(lane, lane.reduced[1]);
}

void DirectSteps::forward(std::size_t micro_batch) {
  const ChunkShape& chunk = plan_->chunks.front();
  const bool gathers = traffic_.gathers_every_pass || (micro_batch == 0 && traffic_.gathers_in_forward);
  for (std::size_t r = 0; r < lanes_.size(); ++r) {
    Lane& lane = lanes_[r];
    const MicroBatchPrice& price = *ranks_[r].micro_batches[micro_batch];
    const WorkTime time = forward_time(price, chunk);
    lane.work += time;
    compute(lane, gathers ? price.overhead_ns : time.total_ns);
    if (!gathers) continue;
    lane.pass.embedding_ns = phase_time(price.tokens->embedding_forward).total_ns;
    lane.pass.head_ns = phase_time(price.tokens->head_forward).total_ns;
    for (const bool has_experts : {false, true}) {
      if ((has_experts ? chunk.n_experts : chunk.n_dense) == 0) continue;
      const std::int64_t layer_ns = layer_forward_time(price, has_experts).total_ns;
      lane.pass.layer_ns[has_experts] = {layer_ns, layer_ns + price.to_host_ns[has_experts]};
    }
  }
  if (!gathers) return;
  for (const StateUnit& unit : plan_->states.front().units) {
    gather_ahead(unit);
    for (Lane& lane : lanes_) {
      std::int64_t time_ns = layers_ns(chunk, unit, lane.pass.layer_ns);
      if (unit.has_embedding) time_ns += lane.pass.embedding_ns;
      if (unit.has_head) time_ns += lane.pass.head_ns;
      compute(lane, time_ns);
    }
  }
}

void DirectSteps::backward(std::size_t micro_batch) {
  const ChunkShape& chunk = plan_->chunks.front();
  const bool is_first = micro_batch == 0;
  const bool is_last = micro_batch + 1 == ranks_.front().micro_batches.size();
  const bool reduces = !traffic_.reduces_at_end && (is_last || traffic_.reduces_every_micro_batch);
  const bool in_between = reduces_during_backward(plan_->plan, is_last);
  for (std::size_t r = 0; r < lanes_.size(); ++r) {
    Lane& lane = lanes_[r];
    const MicroBatchPrice& price = *ranks_[r].micro_batches[micro_batch];
    const WorkTime time = backward_time(price, chunk);
    lane.work += time;
    if (!in_between) {
      compute(lane, time.total_ns);
      continue;
    }
    lane.pass.embedding_ns = phase_time(price.tokens->embedding_backward).total_ns;
    lane.pass.head_ns = phase_time(price.tokens->head_backward).total_ns;
    for (const bool has_experts : {false, true}) {
      if ((has_experts ? chunk.n_experts : chunk.n_dense) == 0) continue;
      for (const bool is_checkpointed : {false, true})
        lane.pass.layer_ns[has_experts][is_checkpointed] =
            layer_backward_time(price, has_experts, is_checkpointed).total_ns;
    }
  }
  const std::vector<StateUnit>& units = plan_->states.front().units;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (traffic_.gathers_every_pass) gather_ahead(*unit);
    for (Lane& lane : lanes_) {
      if (traffic_.has_two_buckets && n_reduced_ >= 2) wait_for(lane, lane.reduced[0]);
      if (in_between) {
        std::int64_t time_ns = layers_ns(chunk, *unit, lane.pass.layer_ns);
        if (unit->has_head) time_ns += lane.pass.head_ns;
        if (unit->has_embedding) time_ns += lane.pass.embedding_ns;
        compute(lane, time_ns);
      }
      if (is_first) continue;
      lane.work.add(Cause::linear, unit->sum_ns);
      compute(lane, unit->sum_ns);
    }
    if (reduces) reduce(*unit);
  }
}

void DirectSteps::wait_for_gradients() {
  send_held_back();
  if (traffic_.reduces_at_end) {
    std::int64_t all_ns = 0;
    for (const StateUnit& unit : plan_->states.front().units) all_ns += unit.reduce_ns;
    if (all_ns > 0) send_reduction(all_ns, computed);
  }
  if (n_reduced_ == 0) return;
  for (Lane& lane : lanes_) wait_for(lane, lane.reduced[1]);
}

// The optimizer and what follows it.
void DirectSteps::finish() {
  const StatesPrice& states = plan_->states.front();
  const auto work = [](Lane& lane, std::int64_t time_ns, Cause cause) {
    lane.work.add(cause, time_ns);
    compute(lane, time_ns);
  };
  for (Lane& lane : lanes_) work(lane, states.optimizer_ns, Cause::optimizer);
  if (gathers_after_optimizer(plan_->plan)) {
    std::int64_t all_ns = 0;
    for (const StateUnit& unit : states.units) all_ns += unit.gather_ns;
    if (all_ns > 0) join(all_ns, computed, wait_for);
  }
  step_.time_ns = 0;
  step_.work.clear();
  step_.accounts.clear();
  for (Lane& lane : lanes_) {
    work(lane, states.step_ns, Cause::overhead);
    step_.time_ns =
        std::max({step_.time_ns, end_of(lane, lane.last_compute), end_of(lane, lane.last_transfer)});
  }
  for (Lane& lane : lanes_) {
    const std::int64_t computed_ns = end_of(lane, lane.last_compute);
    const std::int64_t sent_ns = end_of(lane, lane.last_transfer);
    if (sent_ns > computed_ns) explain(lane, lane.last_transfer, computed_ns, sent_ns);
    lane.account.idle += SimTime{step_.time_ns - std::max(computed_ns, sent_ns)};
    step_.work.push_back(lane.work);
    step_.accounts.push_back(lane.account);
  }
}

}  // namespace packsim
