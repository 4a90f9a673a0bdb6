#include "experiment/shared/once_map.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

using packsim::OnceMap;

TEST_CASE("a value is made once, however many threads ask for it") {
  OnceMap<int> map(4);
  std::atomic<int> n_made{0};
  std::vector<std::jthread> threads;
  std::atomic<int> sum{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] { sum += *map.get("a", [&] { return ++n_made; }); });
  }
  threads.clear();  // joins
  CHECK(n_made == 1);
  CHECK(sum == 8);  // 8 threads x 1
}

TEST_CASE("the value that was asked for longest ago is forgotten") {
  OnceMap<int> map(2);
  int n_made = 0;
  const auto get = [&](const char* key) { return *map.get(key, [&] { return ++n_made; }); };
  CHECK(get("a") == 1);
  CHECK(get("b") == 2);
  CHECK(get("a") == 1);
  CHECK(get("c") == 3);  // b goes
  CHECK(get("a") == 1);
  CHECK(get("b") == 4);
}

TEST_CASE("a value that could not be made is made again") {
  OnceMap<int> map(2);
  CHECK_THROWS_AS(map.get("a", []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK(*map.get("a", [] { return 7; }) == 7);
}

TEST_CASE("a value outlives the map's memory of it") {
  OnceMap<int> map(1);
  const auto first = map.get("a", [] { return 1; });
  map.get("b", [] { return 2; });
  CHECK(*first == 1);
}
