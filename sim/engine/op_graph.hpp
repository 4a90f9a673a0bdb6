#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "models/step/cause.hpp"
#include "sim/engine/flow_network.hpp"
#include "sim/engine/sim_time.hpp"

namespace packsim {

using OpId = std::uint32_t;
using StreamId = std::uint32_t;
using CollectiveId = std::uint32_t;

/// What a stream's operations run on. Computation of a rank is slowed down while its links are busy.
enum class StreamKind : std::uint8_t { compute, communication };

/// One operation: it starts when those before it on its stream and all that it waits for have ended.
struct Op {
  static constexpr CollectiveId kLocal = std::numeric_limits<CollectiveId>::max();
  StreamId stream = 0;
  CollectiveId collective = kLocal;  ///< the collective that it takes part in
  SimTime duration;                  ///< of a local one
  Cause cause = Cause::linear;

  bool is_local() const { return collective == kLocal; }
};

/// A meeting: it starts when the operation of its last participant does, and ends for all at once.
struct Collective {
  std::uint32_t n_ops = 0;      ///< operations that take part
  SimTime alone;                ///< what it takes while nothing contends
  std::uint32_t first_use = 0;  ///< its links, in OpGraph::link_uses()
  std::uint32_t n_uses = 0;
};

/// The operations of one optimizer step. Keeps its memory when cleared.
class OpGraph {
 public:
  static constexpr OpId kNone = std::numeric_limits<OpId>::max();  ///< no operation
  static constexpr std::uint32_t kMaxRanks = 1U << 20;

  /// merges_work: add_work() makes longer operations instead of more. A trace that is to show every piece
  /// needs a graph that does not.
  explicit OpGraph(bool merges_work = true) : merges_work_(merges_work) {}
  void clear();

  /// rank: whose computation and communication slow each other down. Numbers should leave no gaps.
  /// Throws std::invalid_argument where the rank has a compute stream already, or is not below kMaxRanks.
  StreamId add_stream(std::uint32_t rank, StreamKind kind);
  /// A local operation at the end of a stream, behind `after` as well.
  /// Throws std::invalid_argument, as all that add do: a stream, collective or operation to wait for that has
  /// not been added yet, a time below 0. The graph then is as it was.
  OpId add_op(StreamId stream, SimTime duration, Cause cause, std::span<const OpId> after = {});
  CollectiveId add_collective(SimTime alone, std::span<const LinkUse> uses = {});
  /// A rank's part of a collective, at the end of a stream.
  OpId join(StreamId stream, CollectiveId collective, Cause cause, std::span<const OpId> after = {});

  /// A local operation that nobody has the id of, so that it can grow: work right behind it on the stream, of
  /// the same cause and with nothing to wait for, makes it longer instead of being one more operation. Ends
  /// nothing at another time, but for the slow-down of computation, which is rounded up to whole nanoseconds
  /// once an operation.
  void add_work(StreamId stream, SimTime duration, Cause cause, std::span<const OpId> after = {});
  /// To wait for all that the stream has so far: its last operation, which then grows no more. kNone where
  /// the stream is empty.
  OpId last_op(StreamId stream);

  struct Stream {
    std::uint32_t rank = 0;
    StreamKind kind = StreamKind::compute;
    OpId first = kNone;
    OpId last = kNone;
    bool last_may_grow = false;
  };
  std::uint32_t n_ranks() const { return static_cast<std::uint32_t>(compute_streams_.size()); }
  /// kNone where the rank has none.
  StreamId compute_stream(std::uint32_t rank) const { return compute_streams_[rank]; }
  std::span<const Stream> streams() const { return streams_; }
  std::span<const Op> ops() const { return ops_; }
  std::span<const Collective> collectives() const { return collectives_; }
  std::span<const LinkUse> link_uses() const { return link_uses_; }
  std::span<const LinkUse> link_uses(CollectiveId collective) const {
    return link_uses().subspan(collectives_[collective].first_use, collectives_[collective].n_uses);
  }

  /// The neighbours of an operation on its stream, or kNone.
  OpId next(OpId op) const { return links_[op].next; }
  OpId previous(OpId op) const { return links_[op].previous; }
  /// What an operation waits for, less what is before it on its own stream anyway.
  std::span<const OpId> after(OpId op) const {
    const std::size_t first = links_[op].first_after;
    return std::span(after_).subspan(first, end_of_after(op) - first);
  }
  /// Calls visit(OpId) for everything that waits for an operation, once for each time that it was named.
  template <typename Visit>
  void for_each_waiting(OpId op, Visit visit) const {
    for (std::uint32_t wait = links_[op].first_wait; wait != kNone; wait = waits_[wait].next) {
      visit(waits_[wait].op);
    }
  }
  /// How many ends an operation needs to see before it starts: after() and previous().
  std::uint32_t n_waits(OpId op) const {
    return static_cast<std::uint32_t>(end_of_after(op) - links_[op].first_after) +
           (links_[op].previous == kNone ? 0U : 1U);
  }

 private:
  struct Links {
    OpId next = kNone;
    OpId previous = kNone;
    std::uint32_t first_wait = kNone;  // of those for this operation: a list through waits_
    std::uint32_t first_after = 0;     // in after_, up to that of the next operation
  };
  struct Wait {
    OpId op;             // the one that waits, for after_[index of this]
    std::uint32_t next;  // for the same operation, or kNone
  };

  std::size_t end_of_after(OpId op) const {
    return op + 1 < links_.size() ? links_[op + 1].first_after : after_.size();
  }
  OpId append(const Op& op, std::span<const OpId> after);

  bool merges_work_;
  std::vector<StreamId> compute_streams_;  // [n_ranks]
  std::vector<Stream> streams_;
  std::vector<Op> ops_;
  std::vector<Links> links_;  // [n_ops]
  std::vector<OpId> after_;
  std::vector<Wait> waits_;  // [after_.size()]
  std::vector<Collective> collectives_;
  std::vector<LinkUse> link_uses_;
};

}  // namespace packsim
