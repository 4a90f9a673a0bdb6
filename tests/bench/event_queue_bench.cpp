// The hold model: the earliest event is popped and schedules its follow-up, at a constant number of pending
// events. An item is one pop and one push.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <queue>
#include <vector>

#include "sim/engine/event_queue.hpp"

namespace {

using packsim::Priority;
using packsim::SimTime;

// std::priority_queue over 24-byte events with the same total order.
class StandardQueue {
 public:
  struct Event {
    SimTime time;
    std::uint64_t priority_and_sequence;
    std::uint32_t payload;
  };

  void push(SimTime time, Priority priority, std::uint32_t payload) {
    queue_.push({time, (static_cast<std::uint64_t>(priority) << 56) | n_pushed_++, payload});
  }
  Event pop() {
    const Event event = queue_.top();
    queue_.pop();
    return event;
  }

 private:
  struct After {
    bool operator()(const Event& a, const Event& b) const {
      return a.time != b.time ? a.time > b.time : a.priority_and_sequence > b.priority_and_sequence;
    }
  };
  static_assert(sizeof(Event) == 24);
  std::priority_queue<Event, std::vector<Event>, After> queue_;
  std::uint64_t n_pushed_ = 0;
};

// Exponential, as between independent events, with a mean of 1 ms. Enough of them that no branch predictor
// learns the sequence, few enough to stay in the cache.
std::vector<SimTime> random_increments() {
  std::vector<SimTime> increments(std::size_t{1} << 13);
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (SimTime& increment : increments) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    increment = packsim::sim_time(-1e-3 * std::log((static_cast<double>(state >> 11) + 0.5) * 0x1p-53));
  }
  return increments;
}

template <typename Queue>
void hold(benchmark::State& state) {
  const auto n_pending = static_cast<std::size_t>(state.range(0));
  const std::vector<SimTime> increments = random_increments();
  std::size_t next = 0;
  const auto increment = [&] { return increments[next++ % increments.size()]; };

  Queue queue;
  for (std::size_t i = 0; i < n_pending; ++i) {
    queue.push(increment(), Priority::finish, static_cast<std::uint32_t>(i));
  }
  const auto step = [&] {
    const auto event = queue.pop();
    queue.push(event.time + increment(), Priority::finish, event.payload);
  };
  // A queue that was just built is in better order than one in use.
  for (std::size_t i = 0; i < 4 * n_pending; ++i) step();
  for (auto _ : state) step();
  state.SetItemsProcessed(state.iterations());
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t n_pending : {32, 1024, 65536, 1 << 20}) benchmark->Arg(n_pending);
}

BENCHMARK_TEMPLATE(hold, StandardQueue)->Apply(sizes);
BENCHMARK_TEMPLATE(hold, packsim::EventQueue<std::uint32_t>)->Apply(sizes);

}  // namespace
