#include "packing/schedule/order_moves.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "packing/algorithms/item_order.hpp"
#include "tests/packing/hand_packing.hpp"

namespace packsim::testing {
namespace {

// Iterations of one pack each.
Packing planned(const std::vector<PackLengths>& groups) {
  Packing packing = hand_packing("planner", {100}, groups);
  for (std::uint32_t p = 0; p < packing.groups[0].n_packs(); ++p) {
    packing.planned.placed.push_back({.pack = p});
    packing.planned.iterations.push_back({.first_placed = p, .n_placed = 1});
  }
  return packing;
}

}  // namespace

TEST_CASE("samples that stay in the order of the shuffle have not moved, however many an iteration has") {
  // Items 0 | 1 2 | 3.
  const OrderMoves moves = order_moves(planned({{{1}, {2, 3}, {4}}}), {{"shuffle", false}});
  CHECK(moves.mean_move_iterations == 0);
  CHECK(moves.largest_move_iterations == 0);
}

TEST_CASE("a sample that changes iterations is as far from home as it has moved, and displaces others") {
  Packing packing = planned({{{1, 1}, {1, 1}, {1, 1}}});
  // Items 5 0 | 1 2 | 3 4: the last one has gone to the front (2 iterations), and two others are one late.
  packing.groups[0].items = {5, 0, 1, 2, 3, 4};
  const OrderMoves moves = order_moves(packing, {{"shuffle", false}});
  CHECK(moves.mean_move_iterations == Approx((2 + 1 + 1) / 6.0));
  CHECK(moves.largest_move_iterations == 2);
}

TEST_CASE("samples that were left out have no place, and the shuffle is the strategy's own") {
  Packing packing = planned({{{1}, {1}}});
  packing.cut_lengths_tokens = {1, 0, 1};
  packing.lengths_tokens = packing.cut_lengths_tokens;
  std::vector<ItemIndex> order = packing_order(3, {{"seed", 1024}});
  std::erase(order, 1U);
  packing.groups[0].items = order;
  CHECK(order_moves(packing, {{"seed", 1024}}).largest_move_iterations == 0);
  std::ranges::reverse(packing.groups[0].items);
  CHECK(order_moves(packing, {{"seed", 1024}}).mean_move_iterations == 1);
}

TEST_CASE("planner in windows of one iteration moves nothing, and reports so") {
  const std::vector<std::int32_t> lengths = {40, 10, 30, 20, 50, 5, 60, 35, 15, 25, 45, 55};
  BatchSetting setting{
      .groups = {{.capacity_tokens = 100, .gpus_per_pack = 1}}, .n_gpus = 1, .tokens_per_iteration = 100};
  setting.groups[0].cost.tokens_s = {.tokens = {0, 100}, .time_s = {1, 101}};
  PackRequest request{.lengths_tokens = lengths, .capacities_tokens = {100}, .setting = &setting};
  request.options.set("window_iterations", 1);
  const OrderMoves moves = order_moves(pack("planner", request), request.options);
  CHECK(moves.largest_move_iterations == 0);
}

}  // namespace packsim::testing
