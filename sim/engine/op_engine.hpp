#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/op_graph.hpp"

namespace packsim {

struct OpEngineOptions {
  /// How many times as long computation takes while its rank communicates: 1 to 1 000, rounded to a
  /// millionth.
  double slow_down = 1;
};

/// Runs the operations of a graph in simulated time, as the streams and events of CUDA would.
///
/// An operation starts when the one before it on its stream and all that it waits for have ended. A local one
/// takes its duration. One that joins a collective then holds its stream and waits for the other
/// participants; with the last of them the collective starts, and it ends for all at once: after the time
/// that it takes alone, or, where there is a network and the collective uses links, when the network says.
///
/// While a collective that takes time runs on a rank, so that it has started and not ended, the rank's local
/// operations on the compute stream do 1/slow_down of the work. Neither how often that changes within an
/// operation nor in which order things happen within a nanosecond matters: the work left is kept exactly, and
/// an operation ends with the first whole nanosecond in which none is.
///
/// Events are ordered by (time, priority, sequence), so the same graph always gives the same times. An object
/// keeps its buffers between runs and nothing else: it allocates only where a graph is larger than all
/// before.
class OpEngine {
 public:
  /// Runs all operations from `start` on. Returns the end of the last one, or `start` where there is none.
  /// The network, which may be null, is cleared first.
  ///
  /// Throws std::logic_error where operations wait for each other: a bug in whoever made the graph. It names
  /// the first operation that is stuck of up to 8 streams, and what it waits for. Throws
  /// std::invalid_argument where an option is out of range.
  SimTime run(const OpGraph& graph, FlowNetwork* network, const OpEngineOptions& options, SimTime start);

  /// When the latest run began. All that follows is of the latest run, too.
  SimTime run_start() const { return run_start_; }
  SimTime run_end() const { return run_end_; }
  /// When an operation starts and ends to occupy its stream.
  SimTime start(OpId op) const { return ops_[op].start; }
  SimTime end(OpId op) const { return ops_[op].end; }
  /// When the last participant of a collective arrived.
  SimTime collective_start(CollectiveId collective) const { return collectives_[collective].start; }
  /// Operations that ended and collectives that started.
  std::uint64_t n_events() const { return n_ended_ + n_started_; }

 private:
  __extension__ using Work = __int128;
  static constexpr Work kSlowedSpeed = 1'000'000;  // a nanosecond
  static constexpr SimTime kNever{std::numeric_limits<std::int64_t>::max()};

  struct OpState {
    SimTime start;  // Until it is known: the latest end so far of what the operation waits for.
    SimTime end;
    std::uint32_t n_waits = 0;             // Operations that it waits for and that have not ended.
    OpId arrived_before = OpGraph::kNone;  // The participant that arrived at the same collective before.
  };
  struct CollectiveState {
    SimTime start;
    std::uint32_t n_missing = 0;
    OpId last_arrival = OpGraph::kNone;
  };
  struct RankState {
    Work left = 0;  // What is left of the running operation at `since`.
    SimTime since;
    SimTime end;                    // When the running operation ends if nothing changes.
    SimTime event;                  // The earliest event in the queue for that end.
    OpId running = OpGraph::kNone;  // A local operation on the compute stream.
    std::int32_t n_in_flight = 0;
    bool slowed = false;
    bool will_settle = false;
  };

  void reset(const OpGraph& graph, FlowNetwork* network, const OpEngineOptions& options, SimTime start);
  void start_ready(SimTime now);
  bool next_event();

  void start_op(OpId op);
  void end_op(OpId op, SimTime at);
  void saw_end(OpId op, SimTime at);

  void arrive(OpId op, CollectiveId id);
  void start_transfer(CollectiveId id, SimTime now);
  void end_collective(CollectiveId id, SimTime at);
  template <typename Visit>
  void for_each_participant(CollectiveId id, Visit visit) const;
  void count_in_flight(CollectiveId id, std::int32_t change);

  void compute(OpId op, std::uint32_t rank);
  void end_of_op(OpId op, SimTime now);
  void will_settle(std::uint32_t rank);
  void settle(RankState& rank, SimTime now);

  [[noreturn]] void deadlock() const;
  std::string held_up_by(OpId op) const;

  const OpGraph* graph_ = nullptr;  // that runs
  FlowNetwork* network_ = nullptr;
  Work full_speed_ = kSlowedSpeed;
  bool slows_down_ = false;
  SimTime run_start_;
  SimTime run_end_;
  std::size_t n_ended_ = 0;    // operations
  std::size_t n_started_ = 0;  // collectives

  std::vector<OpState> ops_;
  std::vector<CollectiveState> collectives_;
  std::vector<RankState> ranks_;         // where computation is slowed down
  std::vector<OpId> ready_;              // a stack
  std::vector<std::uint32_t> changed_;   // ranks to settle
  std::vector<CollectiveId> transfers_;  // [TransferId]
  // Payload: an operation that ends (Priority::finish), a collective that ends (barrier) or starts (start).
  EventQueue<std::uint32_t> queue_;
};

}  // namespace packsim
