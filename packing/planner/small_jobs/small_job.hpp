#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"

namespace packsim {

/// The most items of a job for which there is time to try much.
inline constexpr std::size_t kMostItemsOfSmallJob = 512;

/// Iterations of a job of few items, which may be trained in any order, and whose rounds need not be full
/// (setting.rounds.multiple is 1). They take at most as long as the given ones, by the times of
/// IterationTimer.
///
/// Starts are the given iterations; for each SP degree and number of rounds, packs of one length that fill
/// them, by best fit; and items divided evenly. The best start is improved by random changes: an item goes to
/// another pack, or for another item; two packs become one; a pack gets another degree.
///
/// most_tokens: of an iteration, unless a single item is longer.
std::vector<ComposedIteration> plan_small_job(const BatchProblem& problem, const DegreeCosts& costs,
                                              std::span<const ItemIndex> order,
                                              std::span<const ComposedIteration> given,
                                              std::int64_t most_tokens);

}  // namespace packsim
