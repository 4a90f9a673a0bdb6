#include "packing/planner/degree_costs.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace packsim;

TEST_CASE("a sample costs its share of the cheapest packs that hold it, and its attention in their group") {
  // Packs of up to 100 tokens take 0.01 s a token and 1 s a document, longer ones of up to 300 tokens
  // 0.015 s and 2 s.
  std::vector<BatchGroup> groups = {{.capacity_tokens = 100}, {.capacity_tokens = 300}};
  groups[0].cost = {.tokens_s = {.tokens = {0, 100}, .time_s = {0, 1}}, .document_s = {{0}, {1}}};
  groups[1].cost = {.tokens_s = {.tokens = {0, 300}, .time_s = {0, 4.5}}, .document_s = {{0}, {2}}};
  const DegreeCosts costs(groups);
  CHECK(costs.most_tokens(0) == 300);
  CHECK(costs.group_of(0, 100) == 0);
  CHECK(costs.group_of(0, 101) == 1);
  CHECK(costs.share_s(0, 50) == Approx(50 * 0.01 + 1));
  CHECK(costs.share_s(0, 200) == Approx(200 * 0.015 + 2));
  CHECK(costs.alone_s(0, 50) == Approx(50 * 0.01 + 1));
  CHECK(costs.alone_s(0, 200) == Approx(200 * 0.015 + 2));
  CHECK(costs.share_s(0, 301) == std::numeric_limits<double>::infinity());
  CHECK(costs.alone_s(0, 301) == std::numeric_limits<double>::infinity());
}
