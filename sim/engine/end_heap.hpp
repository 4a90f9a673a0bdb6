#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/sim_time.hpp"

namespace packsim {

/// A binary heap of the times at which a few things end: the earliest on top, the lowest id among equal ones.
/// Unlike in an event queue, an end can be moved and taken out, because the heap knows where each id is.
class EndHeap {
 public:
  struct End {
    SimTime time;
    std::uint32_t id = 0;
    friend auto operator<=>(const End&, const End&) = default;
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  /// The earliest end; there must be one.
  const End& top() const { return heap_.front(); }
  /// All ends, in no particular order.
  const std::vector<End>& all() const { return heap_; }
  void clear() { heap_.clear(); }

  /// id: not in the heap.
  void push(std::uint32_t id, SimTime time) {
    if (places_.size() <= id) places_.resize(id + std::size_t{1});
    heap_.push_back({time, id});
    sift_up(heap_.size() - 1);
  }

  /// id: in the heap.
  void move(std::uint32_t id, SimTime time) {
    const std::size_t place = places_[id];
    const bool earlier = time < heap_[place].time;
    heap_[place].time = time;
    sift(place, earlier);
  }

  /// id: in the heap.
  void remove(std::uint32_t id) {
    const std::size_t place = places_[id];
    const End last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    const bool earlier = last < heap_[place];
    heap_[place] = last;
    sift(place, earlier);
  }

 private:
  void sift(std::size_t place, bool earlier) {
    if (earlier) {
      sift_up(place);
    } else {
      sift_down(place);
    }
  }

  void sift_up(std::size_t place) {
    const End end = heap_[place];
    while (place > 0) {
      const std::size_t parent = (place - 1) / 2;
      if (!(end < heap_[parent])) break;
      put(place, heap_[parent]);
      place = parent;
    }
    put(place, end);
  }

  void sift_down(std::size_t place) {
    const End end = heap_[place];
    for (;;) {
      std::size_t child = 2 * place + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < end)) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, end);
  }

  void put(std::size_t place, const End& end) {
    heap_[place] = end;
    places_[end.id] = place;
  }

  std::vector<End> heap_;
  std::vector<std::size_t> places_;  // [ids seen], index in heap_ of those that are in it
};

}  // namespace packsim
