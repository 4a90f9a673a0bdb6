#include "sim/step/state_exchange.hpp"

#include <algorithm>

#include "models/state_traffic.hpp"

namespace packsim {

void StateExchange::begin(OpGraph& graph, const StatesPrice& states, const ParallelPlan& plan,
                          GroupLinks* links) {
  graph_ = &graph;
  states_ = &states;
  plan_ = &plan;
  links_ = links;
  representatives_.clear();
  n_groups_ = 0;
  between_replicas_.ids.clear();
  all_reductions_ns_ = all_gathers_ns_ = all_drains_ns_ = 0;
  for (const StateUnit& unit : states.units) {
    all_reductions_ns_ += unit.reduce_ns;
    all_gathers_ns_ += unit.gather_ns;
    all_drains_ns_ += unit.drain_ns;
  }
}

// The group of the GPU, which is added if none of its lanes is known yet. Lanes come by ascending GPU.
StateExchange::ShardGroup& StateExchange::group_of(int gpu) {
  // Without replicas, all lanes are in the group of the first one.
  const int first_gpu = states_->replicas > 1 ? gpu / group_span() * group_span() : representatives_.front();
  const auto end = groups_.begin() + static_cast<std::ptrdiff_t>(n_groups_);
  const auto known = std::find_if(groups_.begin(), end,
                                  [&](const ShardGroup& group) { return group.first_gpu == first_gpu; });
  if (known != end) return *known;
  if (n_groups_ == groups_.size()) groups_.emplace_back();
  ShardGroup& group = groups_[n_groups_++];
  group.first_gpu = first_gpu;
  group.representatives.clear();
  for (CollectiveSequence* sequence : {&group.gathers, &group.reductions, &group.at_end})
    sequence->ids.clear();
  return group;
}

void StateExchange::add_representative(int gpu) {
  representatives_.push_back(gpu);
  group_of(gpu).representatives.push_back(gpu);
}

void StateExchange::begin_turn(Lane& lane) {
  lane_ = &lane;
  group_ = &group_of(lane.gpu());
  for (CollectiveSequence* sequence :
       {&group_->gathers, &group_->reductions, &group_->at_end, &between_replicas_})
    sequence->next = 0;
  reduced_.clear();
  reduces_at_end_ = false;
  held_back_.clear();
  computed_before_gather_ = OpGraph::kNone;
}

OpId StateExchange::join(CollectiveSequence& sequence, std::int64_t time_ns, std::span<const LinkUse> uses,
                         OpId after) {
  if (sequence.next == sequence.ids.size())
    sequence.ids.push_back(graph_->add_collective(SimTime{time_ns}, uses));
  const CollectiveId id = sequence.ids[sequence.next++];
  const bool waits = after != OpGraph::kNone;
  return graph_->join(lane_->states_stream(), id, Cause::states,
                      std::span<const OpId>(&after, waits ? 1 : 0));
}

OpId StateExchange::send(CollectiveSequence& in_group, const Transfer& transfer) {
  const auto is_new = [](const CollectiveSequence& sequence) { return sequence.next == sequence.ids.size(); };
  OpId last = OpGraph::kNone;
  if (transfer.time_ns > 0) {
    std::span<const LinkUse> uses;
    if (links_ != nullptr && is_new(in_group)) {
      uses = links_->of_states(transfer.op, group_->first_gpu, states_->gpus, states_->stride,
                               group_->representatives, static_cast<double>(transfer.bytes));
    }
    last = join(in_group, transfer.time_ns, uses, transfer.after);
  }
  if (transfer.replicas_ns > 0) {
    std::span<const LinkUse> uses;
    if (links_ != nullptr && is_new(between_replicas_)) {
      const int stage_span = group_span() * states_->replicas;
      const GroupLinks::Replicas replicas{.first_gpu = group_->first_gpu / stage_span * stage_span,
                                          .shard_gpus = states_->gpus,
                                          .stride = states_->stride,
                                          .n_groups = states_->replicas};
      uses = links_->of_replicas(replicas, representatives_, static_cast<double>(transfer.replicas_bytes));
    }
    last = join(between_replicas_, transfer.replicas_ns, uses, transfer.after);
  }
  return last;
}

OpId StateExchange::send_all(CollectiveSequence& in_group, CollectiveSequence& alone, std::int64_t all_ns) {
  const OpId after = lane_->computed();
  if (links_ == nullptr) return all_ns > 0 ? join(alone, all_ns, {}, after) : OpGraph::kNone;
  OpId last = OpGraph::kNone;
  for (Transfer& transfer : transfers_) {
    transfer.after = after;
    if (const OpId sent = send(in_group, transfer); sent != OpGraph::kNone) last = sent;
  }
  return last;
}

OpId StateExchange::copy(StreamId stream, std::int64_t time_ns, OpId after) {
  const bool waits = after != OpGraph::kNone;
  return graph_->add_op(stream, SimTime{time_ns}, Cause::states,
                        std::span<const OpId>(&after, waits ? 1 : 0));
}

void StateExchange::send_reduction(const Transfer& transfer) {
  OpId done = send(group_->reductions, transfer);
  if (transfer.drain_ns > 0) {
    done = copy(lane_->to_host_stream(), transfer.drain_ns, done != OpGraph::kNone ? done : transfer.after);
  }
  reduced_.push_back(done);
}

void StateExchange::send_held_back() {
  for (const Transfer& transfer : held_back_) send_reduction(transfer);
  held_back_.clear();
}

void StateExchange::gather_ahead(const StateUnit& unit) {
  const OpId computed = lane_->computed();
  if (unit.gather_ns > 0 || unit.fetch_ns > 0) {
    OpId after = plan_->execution.overlaps_states ? computed_before_gather_ : computed;
    // Weights of a whole step have room from the start: their gathers follow each other in the order of use.
    const bool waits = gathers_every_step(*plan_) && !plan_->execution.overlaps_states;
    if (gathers_in_forward(*plan_) && !waits) after = OpGraph::kNone;
    if (unit.fetch_ns > 0) after = copy(lane_->from_host_stream(), unit.fetch_ns, after);
    const OpId gathered =
        send(group_->gathers,
             {.op = "all_gather", .time_ns = unit.gather_ns, .bytes = unit.gather_bytes, .after = after});
    lane_->wait_for(gathered != OpGraph::kNone ? gathered : after);
  }
  computed_before_gather_ = computed;
  send_held_back();
}

void StateExchange::wait_for_buffer() {
  if (reduced_.size() >= 2) lane_->wait_for(reduced_[reduced_.size() - 2]);
}

StateExchange::Transfer StateExchange::reduction(const StateUnit& unit) const {
  return {.op = gradient_collective(*plan_),
          .time_ns = unit.reduce_ns - unit.replicas_ns,
          .bytes = unit.reduce_bytes,
          .replicas_ns = unit.replicas_ns,
          .replicas_bytes = unit.replicas_bytes,
          .drain_ns = unit.drain_ns};
}

void StateExchange::reduce(const StateUnit& unit) {
  if (unit.reduce_ns == 0 && unit.drain_ns == 0) return;
  Transfer transfer = reduction(unit);
  transfer.after = lane_->computed();
  if (reduces_after_next_gather(*plan_)) {
    held_back_.push_back(transfer);
    return;
  }
  send_reduction(transfer);
  if (!plan_->execution.overlaps_states) lane_->wait_for(reduced_.back());
}

void StateExchange::wait_for_gradients() {
  send_held_back();
  if (reduces_at_end_ && all_reductions_ns_ > 0) {
    transfers_.clear();
    if (links_ != nullptr) {
      for (auto unit = states_->units.rbegin(); unit != states_->units.rend(); ++unit)
        transfers_.push_back(reduction(*unit));
    }
    CollectiveSequence& alone = states_->replicas > 1 ? between_replicas_ : group_->reductions;
    reduced_.push_back(send_all(group_->reductions, alone, all_reductions_ns_));
  }
  if (reduces_at_end_ && all_drains_ns_ > 0) {
    const OpId after = reduced_.empty() ? lane_->computed() : reduced_.back();
    reduced_.push_back(copy(lane_->to_host_stream(), all_drains_ns_, after));
  }
  if (!reduced_.empty()) lane_->wait_for(reduced_.back());
}

void StateExchange::gather_changed() {
  if (!gathers_after_optimizer(*plan_)) return;
  transfers_.clear();
  if (links_ != nullptr) {
    for (const StateUnit& unit : states_->units)
      transfers_.push_back({.op = "all_gather", .time_ns = unit.gather_ns, .bytes = unit.gather_bytes});
  }
  lane_->wait_for(send_all(group_->at_end, group_->at_end, all_gathers_ns_));
}

}  // namespace packsim
