#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "models/cause.hpp"
#include "sim/engine/flow_network.hpp"
#include "sim/engine/sim_time.hpp"

namespace packsim {

using OpId = std::uint32_t;
using StreamId = std::uint32_t;
using CollectiveId = std::uint32_t;

/// What the operations of a stream do. While a rank communicates, its computation is slower.
enum class StreamKind : std::uint8_t { compute, communication };

/// An operation of a stream. It starts when the operations before it on its stream, and all that it waits
/// for, have ended.
struct Op {
  static constexpr OpId kNone = std::numeric_limits<OpId>::max();  ///< no operation
  static constexpr CollectiveId kLocal = std::numeric_limits<CollectiveId>::max();
  StreamId stream = 0;
  CollectiveId collective = kLocal;  ///< The collective that the operation takes part in, or kLocal.
  SimTime duration;                  ///< only for a local operation
  // The neighbours on its stream, or kNone.
  OpId next = kNone;
  OpId previous = kNone;
  std::uint32_t first_after = 0;  ///< where OpGraph::after() of it starts
  Cause cause = Cause::linear;

  bool is_local() const { return collective == kLocal; }
};

/// A collective in which several streams take part. It starts when the last of its operations starts, and it
/// ends for all of them at once.
struct Collective {
  std::uint32_t n_ops = 0;      ///< Operations that take part.
  SimTime alone;                ///< its duration if no other transfer shares its links
  std::uint32_t first_use = 0;  ///< Index of the first link that it uses, in OpGraph::link_uses().
  std::uint32_t n_uses = 0;
};

/// An operation in which the GPU waits for launches of its host: it is shorter where the host is ahead. A
/// host gets ahead while its GPU waits for others.
struct LaunchWait {
  OpId op = Op::kNone;
  /// What the stream has done before, every wait for launches in full: what goes beyond it was spent on
  /// waiting for others.
  SimTime work_before;
  SimTime most_ahead;  ///< how far the host can be ahead
};

/// The operations of one optimizer step. clear() keeps the allocated memory.
class OpGraph {
 public:
  static constexpr OpId kNone = Op::kNone;  ///< no operation
  static constexpr std::uint32_t kMaxRanks = 1U << 20;

  /// merges_work: add_work() may make an operation longer instead of adding another. A trace that shows every
  /// piece of work needs a graph that does not merge.
  explicit OpGraph(bool merges_work = true) : merges_work_(merges_work) {}
  void clear();

  /// Adds a stream of a rank. Communication of a rank slows down computation of the same rank. Ranks should
  /// be numbered without gaps. Throws std::invalid_argument if the rank has a compute stream already, or is
  /// not below kMaxRanks.
  StreamId add_stream(std::uint32_t rank, StreamKind kind);
  /// Adds a local operation to the end of a stream; it also waits for `after`.
  ///
  /// This and all other functions that add something throw std::invalid_argument for a time below 0, and for
  /// a stream, collective or operation to wait for that has not been added yet. The graph is then unchanged.
  OpId add_op(StreamId stream, SimTime duration, Cause cause, std::span<const OpId> after = {});
  CollectiveId add_collective(SimTime alone, std::span<const LinkUse> uses = {});
  /// Adds a rank's part of a collective to the end of a stream.
  OpId join(StreamId stream, CollectiveId collective, Cause cause, std::span<const OpId> after = {});

  /// Adds a local operation without returning its id, so that the graph may merge it: if the stream's last
  /// operation was added in this way too and has the same cause, and the new one waits for nothing, the last
  /// operation becomes longer instead. Everything ends at the same times as with separate operations, except
  /// that the slow-down of computation is rounded up to whole nanoseconds once for each operation.
  void add_work(StreamId stream, SimTime duration, Cause cause, std::span<const OpId> after = {});
  /// Adds a wait for launches, which takes `duration` where the rank never waits for others, to the end of a
  /// compute stream. work_before and most_ahead: LaunchWait's.
  void add_launch_wait(StreamId stream, SimTime duration, SimTime work_before, SimTime most_ahead,
                       std::span<const OpId> after = {});
  /// The last operation of a stream, or kNone if the stream is empty. That operation does not become longer
  /// afterwards, so whoever waits for it waits for exactly what the stream has so far.
  OpId last_op(StreamId stream);

  struct Stream {
    std::uint32_t rank = 0;
    StreamKind kind = StreamKind::compute;
    OpId first = kNone;
    OpId last = kNone;
    bool last_may_grow = false;
  };
  std::uint32_t n_ranks() const { return static_cast<std::uint32_t>(compute_streams_.size()); }
  /// The rank's compute stream, or kNone if it has none.
  StreamId compute_stream(std::uint32_t rank) const { return compute_streams_[rank]; }
  std::span<const Stream> streams() const { return streams_; }
  std::span<const Op> ops() const { return ops_; }
  /// In the order of their operations.
  std::span<const LaunchWait> launch_waits() const { return launch_waits_; }
  std::span<const Collective> collectives() const { return collectives_; }
  std::span<const LinkUse> link_uses() const { return link_uses_; }
  std::span<const LinkUse> link_uses(CollectiveId collective) const {
    return link_uses().subspan(collectives_[collective].first_use, collectives_[collective].n_uses);
  }

  /// The operations that an operation waits for on other streams.
  std::span<const OpId> after(OpId op) const {
    const std::size_t end = op + 1 < ops_.size() ? ops_[op + 1].first_after : after_.size();
    return {after_.data() + ops_[op].first_after, after_.data() + end};
  }

 private:
  OpId append(const Op& op, std::span<const OpId> after);

  bool merges_work_;
  std::vector<StreamId> compute_streams_;  // [n_ranks]
  std::vector<Stream> streams_;
  std::vector<Op> ops_;
  std::vector<OpId> after_;  // of all operations, in their order
  std::vector<Collective> collectives_;
  std::vector<LinkUse> link_uses_;
  std::vector<LaunchWait> launch_waits_;
};

}  // namespace packsim
