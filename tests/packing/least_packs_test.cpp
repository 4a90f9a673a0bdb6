// The fewest packs that lengths can need, and that verl_kk does not look for fewer.

#include "packing/algorithms/least_packs.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <random>
#include <vector>

#include "packing/algorithms/balance/karmarkar_karp.hpp"
#include "packing/batch_problem.hpp"
#include "packing/pack.hpp"

namespace packsim::testing {
namespace {

using Values = std::vector<std::int64_t>;

// The fewest packs over all ways to place the lengths from `next` on; one above the capacity stays alone.
std::size_t optimum(const Values& lengths, std::int64_t capacity, Values& packs, std::size_t next = 0) {
  if (next == lengths.size()) return packs.size();
  packs.push_back(lengths[next]);
  std::size_t best = optimum(lengths, capacity, packs, next + 1);
  packs.pop_back();
  for (std::int64_t& tokens : packs) {
    if (tokens + lengths[next] > capacity) continue;
    tokens += lengths[next];
    best = std::min(best, optimum(lengths, capacity, packs, next + 1));
    tokens -= lengths[next];
  }
  return best;
}

double cpu_s(const auto& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("lengths need as many packs as their shares of a capacity fill") {
  CHECK(least_packs({}, 97) == 0);
  CHECK(least_packs(Values(5, 0), 97) == 0);
  // Above half of 97, each alone; of 97 / 3 = 32.3 < 40, two in a pack; of 97 / 4 < 25 < 97 / 3, three.
  CHECK(least_packs(Values(20, 49), 97) == 20);
  CHECK(least_packs(Values(20, 40), 97) == 10);
  CHECK(least_packs(Values(20, 25), 97) == 7);
  // Two halves fit exactly, and so do three thirds.
  CHECK(least_packs(Values(20, 50), 100) == 10);
  CHECK(least_packs(Values(21, 33), 99) == 7);
  // One above the capacity fills one pack, not several.
  CHECK(least_packs(Values{1000, 60}, 100) == 2);
}

TEST_CASE("no packing needs fewer packs than least_packs says") {
  std::mt19937 generator(31);
  int reached = 0;
  for (int run = 0; run < 500; ++run) {
    const std::int64_t capacity = 1 + generator() % 40;
    Values lengths(1 + generator() % 7);
    for (std::int64_t& length : lengths) length = static_cast<std::int64_t>(generator() % (capacity + 2));
    Values packs;
    const std::size_t best = optimum(lengths, capacity, packs);
    INFO("run " << run << " capacity " << capacity);
    CHECK(least_packs(lengths, capacity) <= best);
    reached += least_packs(lengths, capacity) == best ? 1 : 0;
  }
  // A bound of 0 would hold too.
  CHECK(reached > 400);
}

TEST_CASE("verl_kk tries no number of micro-batches that cannot do", "[plain]") {
  // 3000 samples of 40 in packs of 97: their sum fills ceil(120 000 / 97) = 1238, but two fit in each, so
  // 1500 are needed. To try all of 1238 to 1500 took 6 s of CPU time; one try takes 0.001.
  const std::vector<std::int32_t> lengths_tokens(3000, 40);
  const BatchSetting setting = {.groups = {{.capacity_tokens = 97}}, .tokens_per_iteration = 120'000};
  std::size_t n_packs = 0;
  CHECK(cpu_s([&] {
          n_packs = pack("verl_kk",
                         {.lengths_tokens = lengths_tokens, .capacities_tokens = {97}, .setting = &setting})
                        .n_packs();
        }) < 0.5);
  CHECK(n_packs == 1500);
}

TEST_CASE("Karmarkar-Karp does not sort all parts for each value", "[plain]") {
  // Each of 20 000 values joins a partition of up to 10 000 parts in order: 0.006 s. To sort them took 2 s.
  const Values values(20'000, 40);
  std::vector<std::vector<std::uint32_t>> parts;
  CHECK(cpu_s([&] { parts = karmarkar_karp(values, 10'000); }) < 0.5);
  CHECK(std::ranges::all_of(parts, [](const auto& part) { return part.size() == 2; }));
}

}  // namespace packsim::testing
