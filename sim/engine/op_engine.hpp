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
/// An operation starts when the one before it on its stream and all that it waits for have ended. A local
/// operation takes its duration, but a wait for launches less where the host got ahead while its stream
/// waited for others. An operation that joins a collective holds its stream and waits for the other
/// participants. When the last participant arrives, the collective starts, and it ends for all of them at
/// once. It takes its duration alone, unless there is a network and the collective uses links: then the
/// network decides when it ends.
///
/// While a collective that takes time is running on a rank (it has started and not ended), the rank's local
/// operations on the compute stream run at 1/slow_down of their speed. The work that is left is kept exactly,
/// and an operation ends with the first whole nanosecond in which none is left. So it does not matter how
/// often the speed changes during an operation, or in which order things happen within a nanosecond.
///
/// Events are ordered by (time, priority, sequence), so the same graph always gives the same times. Between
/// runs an OpEngine keeps nothing but its buffers; it allocates memory only for a graph that is larger than
/// all before.
class OpEngine {
 public:
  /// Runs all operations from `start` on. Returns the end of the last one, or `start` if there are none. The
  /// network, which may be null, is cleared first.
  ///
  /// Throws std::logic_error if operations wait for each other in a cycle, which is a bug in the code that
  /// made the graph. The message names, for up to 8 streams, the first operation that is stuck and what it
  /// waits for. Throws std::invalid_argument if an option is out of range.
  SimTime run(const OpGraph& graph, FlowNetwork* network, const OpEngineOptions& options, SimTime start);

  /// When the latest run began. The following functions are about the latest run, too.
  SimTime run_start() const { return run_start_; }
  SimTime run_end() const { return run_end_; }
  /// When an operation begins and ceases to occupy its stream.
  SimTime start(OpId op) const { return ops_[op].start; }
  SimTime end(OpId op) const { return ops_[op].end; }
  /// When the last participant of a collective arrived.
  SimTime collective_start(CollectiveId collective) const { return collectives_[collective].start; }
  /// Number of operations that ended, plus collectives that started.
  std::uint64_t n_events() const { return n_ended_ + n_started_; }

 private:
  __extension__ using Work = __int128;
  static constexpr Work kSlowedSpeed = 1'000'000;  // work done in a nanosecond when slowed down
  static constexpr SimTime kNever{std::numeric_limits<std::int64_t>::max()};

  struct OpState {
    SimTime start;
    SimTime end;
    StreamId first_blocked = OpGraph::kNone;  // The first of the streams that wait for it.
  };
  struct StreamState {
    SimTime free;                              // When the operation before `at` ends.
    OpId at = OpGraph::kNone;                  // The first operation whose end is not known.
    StreamId next_blocked = OpGraph::kNone;    // The next stream that waits for the same operation.
    StreamId arrived_before = OpGraph::kNone;  // The stream that arrived at the same collective before.
  };
  // What a compute stream's host does while the stream waits for others.
  struct HostState {
    SimTime saved;  // of waits for launches
    SimTime spent;  // of the stream's waiting for others: what was saved, and what a full queue lost
  };
  struct CollectiveState {
    SimTime start;
    std::uint32_t n_missing = 0;
    StreamId last_arrival = OpGraph::kNone;
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

  void advance(StreamId id);
  SimTime duration_of(OpId op, SimTime start);
  void start_slowed(OpId op);
  void set_end(OpId op, SimTime at);
  void end_op(OpId op, SimTime at);

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

  const OpGraph* graph_ = nullptr;  // the graph that runs
  FlowNetwork* network_ = nullptr;
  Work full_speed_ = kSlowedSpeed;
  bool slows_down_ = false;
  SimTime run_start_;
  SimTime run_end_;
  std::size_t n_ended_ = 0;    // operations that have ended
  std::size_t n_started_ = 0;  // collectives that have started

  std::vector<OpState> ops_;
  std::vector<StreamState> streams_;
  std::vector<HostState> hosts_;  // [n_streams], used only if there are waits for launches
  std::vector<CollectiveState> collectives_;
  std::vector<RankState> ranks_;         // used only if computation is slowed down
  std::vector<StreamId> ready_;          // streams that may go on, as a stack
  std::vector<std::uint32_t> changed_;   // ranks to settle
  std::vector<CollectiveId> transfers_;  // [TransferId]
  // Payload: an operation that ends (Priority::finish), a collective that ends (barrier) or starts (start).
  EventQueue<std::uint32_t> queue_;
};

}  // namespace packsim
