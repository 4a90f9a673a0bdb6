#pragma once

#include "packing/pack.hpp"

namespace packsim {

/// How far a strategy that forms iterations has moved samples from their place in the seeded shuffle. At home
/// is a sample in the iteration that it would be in if the shuffle's samples filled the same iterations, as
/// many samples in each, one after another.
struct OrderMoves {
  double mean_move_iterations = 0;           ///< from home, over all samples
  std::int64_t largest_move_iterations = 0;  ///< of any
};

/// Of a packing that has planned iterations, packed with these options (the shuffle's and its seed).
OrderMoves order_moves(const Packing& packing, const OptionValues& options);

}  // namespace packsim
