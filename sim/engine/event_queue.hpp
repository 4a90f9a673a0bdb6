#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "sim/engine/sim_time.hpp"

namespace packsim {

/// What happens first among events of the same nanosecond: what starts sees everything that has ended by
/// then.
enum class Priority : std::uint8_t { finish, barrier, start };

/// Pending events, the earliest first. The order is total: time, then priority, then order of insertion, so a
/// run never depends on how the queue is built.
///
/// A 4-ary heap: half the levels of a binary heap, and the earliest of four children is found without a
/// branch, as no predictor can guess it. pop() leaves a hole at the top that the next push() fills: most
/// events schedule a follow-up, which then costs one sift and not two. Its speed does not depend on how times
/// are spread, as that of calendars and ladders does, and events may be pushed at any time and priority,
/// which radix heaps forbid. tests/bench/event_queue_bench.cpp holds it against std::priority_queue.
template <typename Payload>
class EventQueue {
  static_assert(std::is_trivially_copyable_v<Payload>,
                "events move a lot: use an index, not a std::function");

 public:
  struct Event {
    SimTime time;
    Priority priority = Priority::finish;
    Payload payload;
  };

  void reserve(std::size_t n_events) { heap_.reserve(n_events); }
  void clear() {
    heap_.clear();
    has_hole_ = false;
  }
  std::size_t size() const { return heap_.size() - (has_hole_ ? 1 : 0); }
  bool empty() const { return size() == 0; }

  void push(SimTime time, Priority priority, Payload payload) {
    const Node node{time.ns, (static_cast<std::uint64_t>(priority) << kPriorityShift) | n_pushed_++, payload};
    if (has_hole_) {
      has_hole_ = false;
      sift_down(node);
    } else {
      heap_.push_back(node);
      sift_up(node);
    }
  }

  /// The earliest event, which stays. Throws std::logic_error where the queue is empty.
  Event top() {
    close_hole();
    if (heap_.empty()) throw std::logic_error("the event queue is empty");
    const Node& node = heap_.front();
    return {{node.time_ns}, static_cast<Priority>(node.order >> kPriorityShift), node.payload};
  }

  /// The earliest event, which leaves the queue. Throws std::logic_error where the queue is empty.
  Event pop() {
    const Event event = top();
    has_hole_ = true;
    return event;
  }

 private:
  struct Node {
    std::int64_t time_ns;
    std::uint64_t order;  // priority in the top byte, sequence below: 2^56 events are years of running
    Payload payload;
  };
  static constexpr int kPriorityShift = 56;
  static constexpr std::size_t kChildren = 4;

  // One comparison of 128 bits, which compiles to compare and subtract with borrow: no branch on equal times.
  __extension__ using Key = __int128;
  static bool before(const Node& a, const Node& b) {
    return ((Key{a.time_ns} << 64) | Key{a.order}) < ((Key{b.time_ns} << 64) | Key{b.order});
  }

  void close_hole() {
    if (!has_hole_) return;
    has_hole_ = false;
    const Node last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
  }

  // Puts `node` into the hole at the back, or nearer to the top.
  void sift_up(const Node& node) {
    std::size_t hole = heap_.size() - 1;
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kChildren;
      if (!before(node, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = node;
  }

  // Puts `node` into the hole at the top, or further down.
  void sift_down(const Node& node) {
    std::size_t hole = 0;
    for (;;) {
      const std::size_t first = kChildren * hole + 1;
      if (first >= heap_.size()) break;
      const std::size_t child =
          first + kChildren <= heap_.size() ? earliest_of_four(first) : earliest_of_rest(first);
      if (!before(heap_[child], node)) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = node;
  }

  std::size_t earliest_of_four(std::size_t first) const {
    const Node* nodes = heap_.data();
    const std::size_t a = first + static_cast<std::size_t>(before(nodes[first + 1], nodes[first]));
    const std::size_t b = first + 2 + static_cast<std::size_t>(before(nodes[first + 3], nodes[first + 2]));
    return before(nodes[b], nodes[a]) ? b : a;
  }

  std::size_t earliest_of_rest(std::size_t first) const {
    std::size_t earliest = first;
    for (std::size_t child = first + 1; child < heap_.size(); ++child) {
      if (before(heap_[child], heap_[earliest])) earliest = child;
    }
    return earliest;
  }

  std::vector<Node> heap_;
  std::uint64_t n_pushed_ = 0;
  bool has_hole_ = false;  // the top has been popped, and its place is free
};

}  // namespace packsim
