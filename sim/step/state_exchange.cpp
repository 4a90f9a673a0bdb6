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
  all_reductions_ns_ = all_gathers_ns_ = 0;
  for (const StateUnit& unit : states.units) {
    all_reductions_ns_ += unit.reduce_ns;
    all_gathers_ns_ += unit.gather_ns;
  }
}

void StateExchange::begin_turn(Lane& lane) {
  lane_ = &lane;
  for (CollectiveSequence* sequence : {&gathers_, &reductions_, &at_end_}) sequence->next = 0;
  reduced_.clear();
  reduces_at_end_ = false;
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

OpId StateExchange::join_all(CollectiveSequence& sequence, std::int64_t all_ns) {
  const OpId after = lane_->computed();
  OpId last = OpGraph::kNone;
  if (links_ == nullptr && all_ns > 0) last = join(sequence, {.time_ns = all_ns, .after = after});
  for (const Transfer& transfer : transfers_) {
    if (transfer.time_ns > 0) last = join(sequence, {transfer.op, transfer.time_ns, transfer.bytes, after});
  }
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
  if (reduces_at_end_ && all_reductions_ns_ > 0) {
    transfers_.clear();
    if (links_ != nullptr) {
      for (auto unit = states_->units.rbegin(); unit != states_->units.rend(); ++unit)
        transfers_.push_back(reduction(*unit));
    }
    reduced_.push_back(join_all(reductions_, all_reductions_ns_));
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
  lane_->wait_for(join_all(at_end_, all_gathers_ns_));
}

}  // namespace packsim
