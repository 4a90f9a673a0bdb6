#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"
#include "packing/planner/small_jobs/random_changes.hpp"
#include "packing/schedule/iteration_size.hpp"

namespace packsim {

/// The most items of a job for which there is time to try much.
inline constexpr std::size_t kMostItemsOfSmallJob = 512;

/// The limits of the iterations of a small job with so many tokens.
///
/// An iteration may have size.most_tokens(), because items do not divide evenly, but there are as many
/// iterations as if none had more than asked for. Only if these are few, and fewer would do, there are fewer.
/// There is at most one that is not full.
IterationLimits iteration_limits(std::int64_t n_tokens, const IterationSize& size);

/// Iterations of a job of few items, which may be trained in any order, and whose rounds need not be full
/// (setting.rounds.multiple is 1). They take at most as long as the given ones, by the times of
/// IterationTimer, unless these are more than limits.most.
///
/// Starts are the given iterations; for each SP degree and number of rounds, packs of one length that fill
/// them, by best fit; and items divided evenly. The best start is improved by random changes: an item goes to
/// another pack, or for another item; two packs become one; a pack gets another degree.
std::vector<ComposedIteration> plan_small_job(const BatchProblem& problem, const DegreeCosts& costs,
                                              std::span<const ItemIndex> order,
                                              std::span<const ComposedIteration> given,
                                              const IterationLimits& limits);

}  // namespace packsim
