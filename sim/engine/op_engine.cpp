#include "sim/engine/op_engine.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace packsim {
namespace {

constexpr double kMaxSlowDown = 1000;

}  // namespace

// Unless computation is slowed down, the end of a local operation is known with its start, and so is that of
// a collective without contention. Such ends are no events: what waits for them is told at once when they
// will be, so that a graph without contention takes one sweep through its streams. Transfers that contend,
// and everything where computation is slowed down, happen in the order of time.
SimTime OpEngine::run(const OpGraph& graph, FlowNetwork* network, const OpEngineOptions& options,
                      SimTime start) {
  reset(graph, network, options, start);
  start_ready(start);
  while (n_ended_ < ops_.size()) {
    if (!next_event()) deadlock();
  }
  for (const OpGraph::Stream& stream : graph.streams()) {
    if (stream.last != OpGraph::kNone) run_end_ = std::max(run_end_, ops_[stream.last].end);
  }
  return run_end_;
}

void OpEngine::reset(const OpGraph& graph, FlowNetwork* network, const OpEngineOptions& options,
                     SimTime start) {
  if (!(options.slow_down >= 1 && options.slow_down <= kMaxSlowDown)) {
    throw std::invalid_argument("slow_down: expected 1 to 1000, got " + std::to_string(options.slow_down));
  }
  graph_ = &graph;
  network_ = network;
  if (network != nullptr) network->clear();
  full_speed_ = std::llround(options.slow_down * static_cast<double>(kSlowedSpeed));
  slows_down_ = full_speed_ != kSlowedSpeed;
  run_start_ = start;
  run_end_ = start;
  n_ended_ = 0;
  n_started_ = 0;
  queue_.clear();
  ready_.clear();
  changed_.clear();
  ranks_.assign(slows_down_ ? graph.n_ranks() : 0, {});

  collectives_.resize(graph.collectives().size());
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    collectives_[i] = {.start = start, .n_missing = graph.collectives()[i].n_ops};
  }
  ops_.assign(graph.ops().size(), {.start = start, .end = kNever});
  streams_.resize(graph.streams().size());
  hosts_.assign(graph.launch_waits().empty() ? 0 : streams_.size(), {});
  // Streams at the back of ready_ come first, in the order in which they were added.
  for (auto id = static_cast<StreamId>(streams_.size()); id-- > 0;) {
    streams_[id] = {.free = start, .at = graph.streams()[id].first};
    ready_.push_back(id);
  }
}

void OpEngine::start_ready(SimTime now) {
  while (!ready_.empty()) {
    const StreamId stream = ready_.back();
    ready_.pop_back();
    advance(stream);
  }
  for (const std::uint32_t rank : changed_) settle(ranks_[rank], now);
  changed_.clear();
}

// Starts the operations of a stream up to the first one whose end is not known, or that waits for such a one.
void OpEngine::advance(StreamId id) {
  StreamState& stream = streams_[id];
  while (stream.at != OpGraph::kNone) {
    const OpId op = stream.at;
    SimTime start = stream.free;
    for (const OpId before : graph_->after(op)) {
      OpState& awaited = ops_[before];
      if (awaited.end == kNever) {
        stream.next_blocked = std::exchange(awaited.first_blocked, id);
        return;
      }
      start = std::max(start, awaited.end);
    }
    ops_[op].start = start;
    const Op& what = graph_->ops()[op];
    if (!what.is_local()) return arrive(op, what.collective);
    if (slows_down_) return start_slowed(op);
    stream.free = start + duration_of(op, start);
    stream.at = what.next;
    set_end(op, stream.free);
  }
}

// The duration of a local operation that starts now.
SimTime OpEngine::duration_of(OpId op, SimTime start) {
  const Op& what = graph_->ops()[op];
  if (what.cause != Cause::host) return what.duration;
  const auto wait = std::ranges::lower_bound(graph_->launch_waits(), op, {}, &LaunchWait::op);
  if (wait == graph_->launch_waits().end() || wait->op != op) return what.duration;
  HostState& host = hosts_[what.stream];
  const SimTime waited_for_others = start - run_start_ - (wait->work_before - host.saved);
  const SimTime ahead = std::clamp(waited_for_others - host.spent, SimTime{}, wait->most_ahead);
  const SimTime saved = std::min(ahead, what.duration);
  host.saved += saved;
  host.spent = waited_for_others - ahead + saved;
  return what.duration - saved;
}

// Handles the next event. False where there is none.
bool OpEngine::next_event() {
  const auto transfer = network_ != nullptr ? network_->next_end() : std::nullopt;
  if (transfer && (queue_.empty() || transfer->time <= queue_.top().time)) {
    network_->finish(transfer->transfer, transfer->time);
    end_collective(transfers_[transfer->transfer], transfer->time);
    start_ready(transfer->time);
    return true;
  }
  if (queue_.empty()) return false;
  const auto event = queue_.pop();
  switch (event.priority) {
    case Priority::finish:
      end_of_op(event.payload, event.time);
      break;
    case Priority::barrier:
      end_collective(event.payload, event.time);
      break;
    case Priority::start:
      start_transfer(event.payload, event.time);
      break;
  }
  start_ready(event.time);
  return true;
}

// Starts a local operation where computation is slowed down.
void OpEngine::start_slowed(OpId op) {
  const Op& what = graph_->ops()[op];
  const OpGraph::Stream& stream = graph_->streams()[what.stream];
  if (stream.kind == StreamKind::compute) {
    compute(op, stream.rank);
  } else {
    queue_.push(ops_[op].start + what.duration, Priority::finish, op);
  }
}

// Streams that wait for the operation may go on.
void OpEngine::set_end(OpId op, SimTime at) {
  OpState& state = ops_[op];
  state.end = at;
  ++n_ended_;
  StreamId blocked = std::exchange(state.first_blocked, OpGraph::kNone);
  for (; blocked != OpGraph::kNone; blocked = streams_[blocked].next_blocked) ready_.push_back(blocked);
}

// The stream of the operation has waited for its end.
void OpEngine::end_op(OpId op, SimTime at) {
  set_end(op, at);
  const Op& what = graph_->ops()[op];
  streams_[what.stream].free = at;
  streams_[what.stream].at = what.next;
  ready_.push_back(what.stream);
}

// A participant arrives at a collective.
void OpEngine::arrive(OpId op, CollectiveId id) {
  CollectiveState& state = collectives_[id];
  state.start = std::max(state.start, ops_[op].start);
  const StreamId stream = graph_->ops()[op].stream;
  streams_[stream].arrived_before = std::exchange(state.last_arrival, stream);
  if (--state.n_missing > 0) return;

  ++n_started_;
  const Collective& collective = graph_->collectives()[id];
  const SimTime end = state.start + collective.alone;
  if (network_ != nullptr && collective.n_uses > 0) {
    queue_.push(state.start, Priority::start, id);
  } else if (slows_down_) {
    count_in_flight(id, 1);
    queue_.push(end, Priority::barrier, id);
  } else {
    for_each_participant(id, [&](OpId participant) { end_op(participant, end); });
  }
}

void OpEngine::start_transfer(CollectiveId id, SimTime now) {
  const TransferId transfer = network_->start(now, graph_->collectives()[id].alone, graph_->link_uses(id));
  if (transfer >= transfers_.size()) transfers_.resize(transfer + 1);
  transfers_[transfer] = id;
  count_in_flight(id, 1);
}

void OpEngine::end_collective(CollectiveId id, SimTime at) {
  count_in_flight(id, -1);
  for_each_participant(id, [&](OpId participant) { end_op(participant, at); });
}

template <typename Visit>
void OpEngine::for_each_participant(CollectiveId id, Visit visit) const {
  StreamId stream = collectives_[id].last_arrival;
  for (; stream != OpGraph::kNone; stream = streams_[stream].arrived_before) visit(streams_[stream].at);
}

// Those on the compute stream itself count too: it then has nothing else to run.
void OpEngine::count_in_flight(CollectiveId id, std::int32_t change) {
  if (!slows_down_) return;
  for_each_participant(id, [&](OpId op) {
    const std::uint32_t rank = graph_->streams()[graph_->ops()[op].stream].rank;
    ranks_[rank].n_in_flight += change;
    will_settle(rank);
  });
}

void OpEngine::compute(OpId op, std::uint32_t rank) {
  RankState& state = ranks_[rank];
  state.running = op;
  state.left = full_speed_ * duration_of(op, ops_[op].start).ns;
  state.since = ops_[op].start;
  state.event = kNever;
  will_settle(rank);
}

// Handles the event of an operation's end. The event of an operation on a compute stream may be too early, as
// the rank may have been slowed down since, or out of date.
void OpEngine::end_of_op(OpId op, SimTime now) {
  const OpGraph::Stream& stream = graph_->streams()[graph_->ops()[op].stream];
  if (stream.kind == StreamKind::compute) {
    RankState& state = ranks_[stream.rank];
    if (state.running != op || state.event != now) return;
    if (state.end > now) {
      state.event = state.end;
      queue_.push(state.end, Priority::finish, op);
      return;
    }
    state.running = OpGraph::kNone;
  }
  end_op(op, now);
}

void OpEngine::will_settle(std::uint32_t rank) {
  if (std::exchange(ranks_[rank].will_settle, true)) return;
  changed_.push_back(rank);
}

// Finds the end of what the rank computes. An extra event costs less than moving one: an event that is too
// early is pushed again, for later, when its time comes.
void OpEngine::settle(RankState& rank, SimTime now) {
  rank.will_settle = false;
  rank.left -= (rank.slowed ? kSlowedSpeed : full_speed_) * (now - rank.since).ns;
  rank.since = now;
  rank.slowed = rank.n_in_flight > 0;
  if (rank.running == OpGraph::kNone) return;

  const Work speed = rank.slowed ? kSlowedSpeed : full_speed_;
  const Work left_ns = rank.left > 0 ? (rank.left + speed - 1) / speed : 0;
  if (left_ns >= kNever.ns) throw std::logic_error("simulated time is over 292 years");
  rank.end = now + SimTime{static_cast<std::int64_t>(left_ns)};
  if (rank.end >= rank.event) return;
  rank.event = rank.end;
  queue_.push(rank.end, Priority::finish, rank.running);
}

void OpEngine::deadlock() const {
  constexpr int kMaxNamed = 8;
  std::string what = "deadlock: " + std::to_string(ops_.size() - n_ended_) + " of " +
                     std::to_string(ops_.size()) + " operations never end:";
  int n_named = 0;
  for (StreamId id = 0; id < streams_.size(); ++id) {
    const OpId op = streams_[id].at;
    if (op == OpGraph::kNone) continue;
    if (n_named++ == kMaxNamed) {
      what += " and more;";
      break;
    }
    what += " operation " + std::to_string(op) + " (" + std::string(cause_name(graph_->ops()[op].cause)) +
            ", rank " + std::to_string(graph_->streams()[id].rank) + ") " + held_up_by(op) + ";";
  }
  what.pop_back();
  throw std::logic_error(what);
}

// What the first operation of its stream that has not ended waits for.
std::string OpEngine::held_up_by(OpId op) const {
  const auto after = graph_->after(op);
  const auto missing = std::ranges::find_if(after, [&](OpId before) { return ops_[before].end == kNever; });
  if (missing != after.end()) return "waits for operation " + std::to_string(*missing);
  const CollectiveId collective = graph_->ops()[op].collective;
  return "waits in collective " + std::to_string(collective) + " for " +
         std::to_string(collectives_[collective].n_missing) + " of " +
         std::to_string(graph_->collectives()[collective].n_ops) + " participants";
}

}  // namespace packsim
