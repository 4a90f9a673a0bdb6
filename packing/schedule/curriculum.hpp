#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/schedule/schedule.hpp"

namespace packsim {

class MersenneTwister;

/// Moves the n packs of a group that have the least attention work, padding included, to the front of
/// `order`; of equal work, those that come first. Both parts keep their order. n: 0..order.size().
void put_light_packs_first(std::span<const MicroBatch> batches, std::size_t n,
                           std::span<std::uint32_t> order);

/// What makes an iteration short.
enum class ShortIterations {
  of_first_group,  ///< its packs are of the first group
  of_least_work,   ///< its packs have the least attention work in sum, padding included
};

/// Moves the `wanted` shortest iterations to the front, in the order in which they stand, and shuffles the
/// rest. Of more iterations of the first group than wanted, and of equal work, it takes those that stand
/// first. iterations: of one epoch, all of them of whole size. batches: [n_groups][n_packs] of that group.
///
/// Throws std::invalid_argument if there are too few short iterations.
void start_with_curriculum(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                           ShortIterations short_ones, std::int64_t wanted, MersenneTwister& generator,
                           std::span<Iteration> iterations);

}  // namespace packsim
