#pragma once

#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"

namespace packsim {

/// Iterations for jobs whose ranks are tied together, so that all packs of one share an SP degree. Samples go
/// to the degree at which they cost least, of a set of degrees; the iterations of each are cut and composed
/// on their own. Which set is decided by trying the most promising ones on some iterations. In windows, where
/// samples cannot be sorted out like that, each iteration takes the degree at which it is done first.
///
/// costs: of the problem's groups. order: the items to be trained, shuffled. Throws std::invalid_argument
/// where the setting wants packs on all GPUs in every round and has too few samples for that.
std::vector<ComposedIteration> one_degree_iterations(const BatchProblem& problem, const DegreeCosts& costs,
                                                     std::span<const ItemIndex> order);

}  // namespace packsim
