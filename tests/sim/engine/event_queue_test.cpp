#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <queue>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace packsim {
namespace {

// An event as a test sees it: the payload is the position in order of insertion.
struct Seen {
  SimTime time;
  Priority priority;
  std::uint32_t inserted;
  friend bool operator==(const Seen&, const Seen&) = default;
};

bool before(const Seen& a, const Seen& b) {
  return std::tie(a.time, a.priority, a.inserted) < std::tie(b.time, b.priority, b.inserted);
}

Priority priority_of(std::uint32_t drawn) {
  return static_cast<Priority>(drawn % 3);
}

// One after the other, all of them.
std::vector<Seen> drain(EventQueue<std::uint32_t>& queue) {
  std::vector<Seen> popped;
  while (!queue.empty()) {
    const auto event = queue.pop();
    popped.push_back({event.time, event.priority, event.payload});
  }
  return popped;
}

// What comes out when all of `events` go in before any comes out.
std::vector<Seen> through_queue(const std::vector<Seen>& events) {
  EventQueue<std::uint32_t> queue;
  for (const Seen& event : events) queue.push(event.time, event.priority, event.inserted);
  return drain(queue);
}

// Sorted by time and priority alone: a stable sort keeps the order of insertion.
std::vector<Seen> sorted(std::vector<Seen> events) {
  std::ranges::stable_sort(events, [](const Seen& a, const Seen& b) {
    return std::tie(a.time, a.priority) < std::tie(b.time, b.priority);
  });
  return events;
}

// The same calls on an EventQueue and on a std::priority_queue, which must agree after each.
class Twin {
 public:
  void push(SimTime time, Priority priority) {
    queue_.push(time, priority, n_pushed_);
    reference_.push({time, priority, n_pushed_++});
    REQUIRE(queue_.size() == reference_.size());
  }
  SimTime pop() {
    const auto event = queue_.pop();
    REQUIRE(Seen{event.time, event.priority, event.payload} == reference_.top());
    reference_.pop();
    REQUIRE(queue_.size() == reference_.size());
    REQUIRE(queue_.empty() == reference_.empty());
    return event.time;
  }
  void look() {
    const auto event = queue_.top();
    REQUIRE(Seen{event.time, event.priority, event.payload} == reference_.top());
    REQUIRE(queue_.size() == reference_.size());
  }
  bool empty() const { return reference_.empty(); }

 private:
  struct After {
    bool operator()(const Seen& a, const Seen& b) const { return before(b, a); }
  };
  EventQueue<std::uint32_t> queue_;
  std::priority_queue<Seen, std::vector<Seen>, After> reference_;
  std::uint32_t n_pushed_ = 0;
};

TEST_CASE("events come out by time, then priority, then order of insertion") {
  std::mt19937 generator(1);
  for (const std::uint32_t n_times : {1U, 2U, 50U, 1'000'000U}) {
    for (std::uint32_t n_events = 0; n_events < 200; ++n_events) {
      std::vector<Seen> events;
      for (std::uint32_t i = 0; i < n_events; ++i) {
        const auto time = static_cast<std::int64_t>(generator() % n_times);
        events.push_back({{time}, priority_of(static_cast<std::uint32_t>(generator())), i});
      }
      REQUIRE(through_queue(events) == sorted(events));
    }
  }
}

TEST_CASE("events of one time and one priority come out in the order in which they went in") {
  std::vector<Seen> events;
  for (std::uint32_t i = 0; i < 10'000; ++i) events.push_back({{7}, Priority::barrier, i});
  CHECK(through_queue(events) == events);
}

TEST_CASE("no order of insertion upsets the queue") {
  constexpr std::uint32_t kEvents = 3000;
  std::vector<std::int64_t> times(kEvents);
  const auto check = [&times] {
    std::vector<Seen> events;
    for (std::uint32_t i = 0; i < kEvents; ++i) events.push_back({{times[i]}, Priority::finish, i});
    CHECK(through_queue(events) == sorted(events));
  };
  SECTION("ascending") {
    for (std::uint32_t i = 0; i < kEvents; ++i) times[i] = i;
    check();
  }
  SECTION("descending, so that each goes to the top") {
    for (std::uint32_t i = 0; i < kEvents; ++i) times[i] = kEvents - i;
    check();
  }
  SECTION("from both ends") {
    for (std::uint32_t i = 0; i < kEvents; ++i) times[i] = i % 2 == 0 ? i : 2 * kEvents - i;
    check();
  }
  SECTION("saw teeth with ties") {
    for (std::uint32_t i = 0; i < kEvents; ++i) times[i] = i % 17;
    check();
  }
  SECTION("the ends of time") {
    for (std::uint32_t i = 0; i < kEvents; ++i) {
      times[i] = i % 3 == 0   ? std::numeric_limits<std::int64_t>::max()
                 : i % 3 == 1 ? 0
                              : std::int64_t{1} << (i % 63);
    }
    check();
  }
}

TEST_CASE("pushes, pops and looks in any mixture agree with std::priority_queue") {
  for (const std::uint32_t n_times : {1U, 3U, 1000U, 1U << 30}) {
    for (const std::uint32_t pushes_of_eight : {3U, 4U, 5U, 7U}) {
      std::mt19937 generator(n_times + pushes_of_eight);
      Twin twin;
      for (int i = 0; i < 20'000; ++i) {
        if (twin.empty() || generator() % 8 < pushes_of_eight) {
          const auto time = static_cast<std::int64_t>(generator() % n_times);
          twin.push({time}, priority_of(static_cast<std::uint32_t>(generator())));
        } else {
          if (generator() % 4 == 0) twin.look();
          twin.pop();
        }
      }
      while (!twin.empty()) twin.pop();
    }
  }
}

TEST_CASE("events that schedule follow-ups agree with std::priority_queue at every number pending") {
  std::mt19937 generator(4);
  for (const int n_pending : {1, 2, 3, 4, 5, 6, 20, 21, 22, 84, 85, 86, 1024}) {
    Twin twin;
    for (int i = 0; i < n_pending; ++i)
      twin.push({static_cast<std::int64_t>(generator() % 100)}, Priority::finish);
    for (int i = 0; i < 3000; ++i) {
      const SimTime now = twin.pop();
      // None, one or two follow-ups, some of them at once.
      for (std::uint32_t n = static_cast<std::uint32_t>(generator() % 3); n > 0; --n) {
        twin.push(now + SimTime{static_cast<std::int64_t>(generator() % 50)},
                  priority_of(static_cast<std::uint32_t>(generator())));
      }
      if (twin.empty()) twin.push(now, Priority::start);
    }
    while (!twin.empty()) twin.pop();
  }
}

TEST_CASE("an event pushed at the present with a smaller priority number comes next") {
  EventQueue<std::uint32_t> queue;
  queue.push({5}, Priority::barrier, 0);
  queue.push({5}, Priority::barrier, 1);
  queue.push({5}, Priority::start, 2);
  CHECK(queue.pop().payload == 0);
  queue.push({5}, Priority::finish, 3);
  CHECK(queue.pop().payload == 3);
  CHECK(queue.pop().payload == 1);
  CHECK(queue.pop().payload == 2);
}

TEST_CASE("an empty queue refuses to be popped") {
  EventQueue<std::uint32_t> queue;
  CHECK_THROWS_AS(queue.pop(), std::logic_error);
  CHECK_THROWS_AS(queue.top(), std::logic_error);
  queue.push({1}, Priority::finish, 0);
  queue.pop();
  CHECK_THROWS_AS(queue.pop(), std::logic_error);
  queue.push({1}, Priority::finish, 0);
  queue.clear();
  CHECK(queue.empty());
  CHECK_THROWS_AS(queue.pop(), std::logic_error);
}

}  // namespace
}  // namespace packsim
