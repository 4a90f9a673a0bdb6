#include "sim/step/state_exchange.hpp"

#include "models/state_traffic.hpp"

namespace packsim {

void StateExchange::begin(OpGraph& graph, const StatesPrice& states, const ParallelPlan& plan,
                          GroupLinks* links) {
  graph_ = &graph;
  states_ = &states;
  plan_ = &plan;
  links_ = links;
  representatives_.clear();
  for (CollectiveSequence* sequence : {&gathers_, &reductions_, &at_end_}) sequence->ids.clear();
}

void StateExchange::begin_turn(Lane& lane) {
  lane_ = &lane;
  for (CollectiveSequence* sequence : {&gathers_, &reductions_, &at_end_}) sequence->next = 0;
  reduced_.clear();
  deferred_.clear();
  held_back_.clear();
  before_last_ = OpGraph::kNone;
}

OpId StateExchange::join(CollectiveSequence& sequence, const Transfer& transfer) {
  if (sequence.next == sequence.ids.size()) {
    std::span<const LinkUse> uses;
    if (links_ != nullptr) {
      uses = links_->of_states(transfer.op, representatives_.front(), states_->gpus, states_->stride,
                               representatives_, static_cast<double>(transfer.bytes));
    }
    sequence.ids.push_back(graph_->add_collective(SimTime{transfer.time_ns}, uses));
  }
  const CollectiveId id = sequence.ids[sequence.next++];
  const bool waits = transfer.after != OpGraph::kNone;
  return graph_->join(lane_->states_stream(), id, Cause::states,
                      std::span<const OpId>(&transfer.after, waits ? 1 : 0));
}

OpId StateExchange::join_all(CollectiveSequence& sequence, const std::vector<Transfer>& transfers) {
  Transfer all{.after = lane_->computed()};
  OpId last = OpGraph::kNone;
  for (const Transfer& transfer : transfers) {
    if (links_ != nullptr && transfer.time_ns > 0)
      last = join(sequence, {transfer.op, transfer.time_ns, transfer.bytes, all.after});
    all.time_ns += transfer.time_ns;
  }
  if (links_ == nullptr && all.time_ns > 0) last = join(sequence, all);
  return last;
}

void StateExchange::send_held_back() {
  for (const Transfer& transfer : held_back_) reduced_.push_back(join(reductions_, transfer));
  held_back_.clear();
}

void StateExchange::gather_ahead(const StateUnit& unit) {
  const OpId computed = lane_->computed();
  if (unit.gather_ns > 0) {
    OpId after = plan_->execution.overlaps_states ? before_last_ : computed;
    // Whole weights have room from the start: their gathers follow each other in the order of use.
    if (gathers_in_forward(*plan_)) after = OpGraph::kNone;
    lane_->wait_for(join(gathers_, {"all_gather", unit.gather_ns, unit.gather_bytes, after}));
  }
  before_last_ = computed;
  send_held_back();
}

void StateExchange::wait_for_buffer() {
  if (reduced_.size() >= 2) lane_->wait_for(reduced_[reduced_.size() - 2]);
}

StateExchange::Transfer StateExchange::reduction(const StateUnit& unit) const {
  return {.op = gradient_collective(*plan_), .time_ns = unit.reduce_ns, .bytes = unit.reduce_bytes};
}

void StateExchange::reduce(const StateUnit& unit) {
  if (unit.reduce_ns == 0) return;
  Transfer transfer = reduction(unit);
  if (reduces_after_backward(*plan_)) {
    deferred_.push_back(transfer);
    return;
  }
  transfer.after = lane_->computed();
  if (reduces_after_next_gather(*plan_)) {
    held_back_.push_back(transfer);
    return;
  }
  reduced_.push_back(join(reductions_, transfer));
  if (!plan_->execution.overlaps_states) lane_->wait_for(reduced_.back());
}

void StateExchange::wait_for_gradients() {
  send_held_back();
  if (!deferred_.empty()) reduced_.push_back(join_all(reductions_, deferred_));
  if (!reduced_.empty()) lane_->wait_for(reduced_.back());
}

void StateExchange::gather_changed() {
  if (!gathers_after_optimizer(*plan_)) return;
  changed_.clear();
  for (const StateUnit& unit : states_->units)
    changed_.push_back({.op = "all_gather", .time_ns = unit.gather_ns, .bytes = unit.gather_bytes});
  lane_->wait_for(join_all(at_end_, changed_));
}

}  // namespace packsim
