// Prices of packs: curves between and beyond their points, and all parts of a pack's time.

#include "packing/pack_cost.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "packing/planner/indexed_curve.hpp"

using namespace packsim;

TEST_CASE("a curve is straight between its points, and goes on beyond them") {
  const CostCurve curve{.tokens = {100, 200, 400}, .time_s = {1, 2, 6}};
  CHECK(curve.at(50) == 0.5);  // (1 s - 0 s) / 100 tokens, as from 100 to 200
  CHECK(curve.at(100) == 1);
  CHECK(curve.at(150) == 1.5);
  CHECK(curve.at(200) == 2);
  CHECK(curve.at(201) == 2.02);  // 4 s / 200 tokens
  CHECK(curve.at(400) == 6);
  CHECK(curve.at(500) == 8);
  const CostCurve one_point{.tokens = {10}, .time_s = {3}};
  CHECK(one_point.at(0) == 3);
  CHECK(one_point.at(1000) == 3);
  CHECK(CostCurve{}.at(7) == 0);
}

TEST_CASE("curves that are read in ascending order or by an index give the same times") {
  std::mt19937 generator(21);
  for (int trial = 0; trial < 50; ++trial) {
    CostCurve curve;
    std::int64_t tokens = 0;
    for (auto n = generator() % 9; n > 0; --n) {
      tokens += 1 + generator() % (trial % 2 == 0 ? 12 : 700);
      curve.tokens.push_back(tokens);
      curve.time_s.push_back(static_cast<double>(generator() % 1000));
    }
    AscendingCurve ascending(curve);
    const IndexedCurve indexed(curve);
    for (std::int64_t at = 0; at <= tokens + 40; ++at) {
      // The first point of at least as many tokens, by looking at each.
      std::size_t above = 0;
      while (above < curve.tokens.size() && curve.tokens[above] < at) ++above;
      const double expected = curve.between(above, at);
      CAPTURE(trial, at);
      REQUIRE(curve.at(at) == expected);
      REQUIRE(ascending.at(at) == expected);
      REQUIRE(indexed.at(at) == expected);
    }
  }
}

TEST_CASE("a pack takes its tokens, its attention, and the transfers that attention does not hide") {
  PackCost cost{.tokens_s = {.tokens = {0, 1000}, .time_s = {1, 11}},     // 1 s, and 0.01 s a token
                .document_s = {.tokens = {0, 1000}, .time_s = {0, 20}}};  // 0.02 s a token
  // 400 tokens: 1 + 4. Documents of 100 and 300 tokens: 2 + 6.
  CHECK(pack_time_s(cost, std::vector<std::int32_t>{100, 300}) == Approx(5 + 8));
  CHECK(pack_time_s(cost, {}) == Approx(1));
  // The longest document alone takes 0.05 x 300 = 15 s of attention: (8^4 + 15^4)^(1/4) = 15.2965.
  cost.longest_s_per_token = 0.05;
  CHECK(pack_time_s(cost, std::vector<std::int32_t>{100, 300}) == Approx(5 + std::pow(4096 + 50625, 0.25)));
  // The order makes no difference.
  CHECK(pack_time_s(cost, std::vector<std::int32_t>{300, 100}) ==
        pack_time_s(cost, std::vector<std::int32_t>{100, 300}));
  // Of transfers of 2 s, a quarter of 8 s of attention hides all, a tenth 0.8 s.
  cost.longest_s_per_token = 0;
  cost.transfers_s = {.tokens = {0, 1000}, .time_s = {0, 5}};
  cost.hiding_fraction = 0.25;
  CHECK(pack_time_s(cost, std::vector<std::int32_t>{100, 300}) == Approx(5 + 8 - 2));
  cost.hiding_fraction = 0.1;
  CHECK(pack_time_s(cost, std::vector<std::int32_t>{100, 300}) == Approx(5 + 8 - 0.8));
}
