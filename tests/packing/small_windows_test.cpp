#include <catch2/catch.hpp>
#include <ctime>
#include <vector>

#include "packing/pack.hpp"

using namespace packsim;

TEST_CASE("a window costs what its samples cost, however large the capacity", "[plain]") {
  // 400 windows of one sample. A strategy that clears one byte a token of capacity for each window would
  // clear 400 * 16 MiB = 6.7 GB, over a second; those that did cleared 8 and 24.
  const std::vector<std::int32_t> lengths_tokens(400, 7);
  for (const Strategy& strategy : strategies()) {
    if (strategy.pack == nullptr) continue;
    INFO(strategy.name);
    const PackRequest request = {
        .lengths_tokens = lengths_tokens, .capacities_tokens = {kLongestCapacityTokens}, .window_samples = 1};
    const std::clock_t start = std::clock();
    const Packing packing = pack(strategy.name, request);
    CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 0.5);
    // Samples of different windows never share a pack.
    CHECK(packing.n_packs() == 400);
  }
}
