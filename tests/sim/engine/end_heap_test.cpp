#include "sim/engine/end_heap.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace packsim {

TEST_CASE("the top is always the earliest end, the lowest id among several") {
  std::mt19937 random(3);
  EndHeap heap;
  std::map<std::uint32_t, std::int64_t> times_ns;          // by id
  std::set<std::pair<std::int64_t, std::uint32_t>> order;  // the same, sorted
  for (int step = 0; step < 20'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random() % 40);
    const auto time_ns = static_cast<std::int64_t>(random() % 25);
    const bool is_in = times_ns.contains(id);
    if (is_in) order.erase({times_ns[id], id});
    if (is_in && random() % 2 == 0) {
      heap.remove(id);
      times_ns.erase(id);
    } else {
      if (is_in) {
        heap.move(id, {time_ns});
      } else {
        heap.push(id, {time_ns});
      }
      times_ns[id] = time_ns;
      order.insert({time_ns, id});
    }
    REQUIRE(heap.size() == order.size());
    REQUIRE(heap.empty() == order.empty());
    if (order.empty()) continue;
    REQUIRE(heap.top().time.ns == order.begin()->first);
    REQUIRE(heap.top().id == order.begin()->second);
  }
}

}  // namespace packsim
