#include "sim/engine/op_graph.hpp"

#include <stdexcept>
#include <string>

namespace packsim {
namespace {

[[noreturn, gnu::cold]] void refuse_id(std::size_t id, std::size_t n, const char* what) {
  throw std::invalid_argument(std::string(what) + " " + std::to_string(id) + ": expected one below " +
                              std::to_string(n));
}

[[noreturn, gnu::cold]] void refuse_time(SimTime time, const char* what) {
  throw std::invalid_argument(std::string(what) + ": expected 0 ns or more, got " + std::to_string(time.ns));
}

void check_below(std::size_t id, std::size_t n, const char* what) {
  if (id >= n) refuse_id(id, n, what);
}

void check_time(SimTime time, const char* what) {
  if (time.ns < 0) refuse_time(time, what);
}

}  // namespace

void OpGraph::clear() {
  compute_streams_.clear();
  streams_.clear();
  ops_.clear();
  after_.clear();
  collectives_.clear();
  link_uses_.clear();
  launch_waits_.clear();
}

StreamId OpGraph::add_stream(std::uint32_t rank, StreamKind kind) {
  check_below(rank, kMaxRanks, "rank");
  if (rank >= compute_streams_.size()) compute_streams_.resize(rank + 1, kNone);
  const auto id = static_cast<StreamId>(streams_.size());
  if (kind == StreamKind::compute) {
    if (compute_streams_[rank] != kNone) {
      throw std::invalid_argument("rank " + std::to_string(rank) + " has a compute stream already");
    }
    compute_streams_[rank] = id;
  }
  streams_.push_back({.rank = rank, .kind = kind});
  return id;
}

OpId OpGraph::add_op(StreamId stream, SimTime duration, Cause cause, std::span<const OpId> after) {
  check_time(duration, "duration of an operation");
  return append({.stream = stream, .duration = duration, .cause = cause}, after);
}

CollectiveId OpGraph::add_collective(SimTime alone, std::span<const LinkUse> uses) {
  check_time(alone, "duration of a collective");
  collectives_.push_back({.alone = alone,
                          .first_use = static_cast<std::uint32_t>(link_uses_.size()),
                          .n_uses = static_cast<std::uint32_t>(uses.size())});
  link_uses_.insert(link_uses_.end(), uses.begin(), uses.end());
  return static_cast<CollectiveId>(collectives_.size() - 1);
}

OpId OpGraph::join(StreamId stream, CollectiveId collective, Cause cause, std::span<const OpId> after) {
  check_below(collective, collectives_.size(), "collective");
  const OpId op = append({.stream = stream, .collective = collective, .duration = {}, .cause = cause}, after);
  ++collectives_[collective].n_ops;
  return op;
}

void OpGraph::add_work(StreamId stream, SimTime duration, Cause cause, std::span<const OpId> after) {
  check_below(stream, streams_.size(), "stream");
  check_time(duration, "duration of an operation");
  const Stream& to = streams_[stream];
  if (to.last_may_grow && after.empty() && ops_[to.last].cause == cause) {
    ops_[to.last].duration = ops_[to.last].duration + duration;
    return;
  }
  append({.stream = stream, .duration = duration, .cause = cause}, after);
  streams_[stream].last_may_grow = merges_work_;
}

void OpGraph::add_launch_wait(StreamId stream, SimTime duration, SimTime work_before, SimTime most_ahead,
                              std::span<const OpId> after) {
  check_time(duration, "duration of a wait for launches");
  check_time(work_before, "work before a wait for launches");
  check_time(most_ahead, "how far a host can be ahead");
  const OpId op = append({.stream = stream, .duration = duration, .cause = Cause::host}, after);
  launch_waits_.push_back({.op = op, .work_before = work_before, .most_ahead = most_ahead});
}

OpId OpGraph::last_op(StreamId stream) {
  check_below(stream, streams_.size(), "stream");
  streams_[stream].last_may_grow = false;
  return streams_[stream].last;
}

OpId OpGraph::append(const Op& op, std::span<const OpId> after) {
  check_below(op.stream, streams_.size(), "stream");
  for (const OpId before : after) check_below(before, ops_.size(), "operation to wait for");

  const auto id = static_cast<OpId>(ops_.size());
  Stream& stream = streams_[op.stream];
  Op& added = ops_.emplace_back(op);
  added.previous = stream.last;
  added.first_after = static_cast<std::uint32_t>(after_.size());
  for (const OpId before : after) {
    if (ops_[before].stream != op.stream) after_.push_back(before);  // else the stream sees to that
  }
  (stream.last == kNone ? stream.first : ops_[stream.last].next) = id;
  stream.last = id;
  stream.last_may_grow = false;
  return id;
}

}  // namespace packsim
