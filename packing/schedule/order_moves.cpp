#include "packing/schedule/order_moves.hpp"

#include <cstdlib>
#include <limits>

#include "packing/algorithms/item_order.hpp"

namespace packsim {
namespace {

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

// [n_items] the iteration that trains each item; kNowhere for those that were left out.
std::vector<std::uint32_t> iteration_of_items(const Packing& packing) {
  std::vector<std::uint32_t> iteration_of(packing.lengths_tokens.size(), kNowhere);
  const PlannedIterations& planned = packing.planned;
  for (std::size_t i = 0; i < planned.iterations.size(); ++i) {
    const Iteration& iteration = planned.iterations[i];
    for (std::size_t p = 0; p < iteration.n_placed; ++p) {
      const PlacedPack& placed = planned.placed[iteration.first_placed + p];
      for (const ItemIndex item : packing.groups[placed.group][placed.pack])
        iteration_of[item] = static_cast<std::uint32_t>(i);
    }
  }
  return iteration_of;
}

}  // namespace

OrderMoves order_moves(const Packing& packing, const OptionValues& options) {
  const std::vector<std::uint32_t> iteration_of = iteration_of_items(packing);
  std::vector<std::int64_t> n_items_of(packing.planned.iterations.size());
  for (const std::uint32_t iteration : iteration_of) {
    if (iteration != kNowhere) ++n_items_of[iteration];
  }
  OrderMoves moves;
  std::int64_t sum_iterations = 0;
  double n_items = 0;
  std::size_t home = 0;
  std::int64_t room = n_items_of.empty() ? 0 : n_items_of.front();
  for (const ItemIndex item : packing_order(packing.lengths_tokens.size(), options)) {
    if (iteration_of[item] == kNowhere) continue;
    while (room == 0) room = n_items_of[++home];
    --room;
    ++n_items;
    const std::int64_t move =
        std::abs(static_cast<std::int64_t>(iteration_of[item]) - static_cast<std::int64_t>(home));
    sum_iterations += move;
    moves.largest_move_iterations = std::max(moves.largest_move_iterations, move);
  }
  if (n_items > 0) moves.mean_move_iterations = static_cast<double>(sum_iterations) / n_items;
  return moves;
}

}  // namespace packsim
