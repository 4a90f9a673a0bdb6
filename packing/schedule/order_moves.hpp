#pragma once

#include "packing/pack.hpp"

namespace packsim {

/// Reordering distance of a strategy that forms iterations (docs/metrics.md): how many iterations lie between
/// the one that trains a sample and its home. The home is the iteration in which the sample would be if the
/// seeded shuffle filled the same iterations in its own order, with as many samples in each.
struct OrderMoves {
  double mean_move_iterations = 0;           ///< mean over all samples
  std::int64_t largest_move_iterations = 0;  ///< largest of any sample
};

/// packing: one with planned iterations. options: those it was packed with, of which shuffle and seed are
/// read.
OrderMoves order_moves(const Packing& packing, const OptionValues& options);

}  // namespace packsim
