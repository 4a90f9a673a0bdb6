#pragma once

#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"

namespace packsim {

/// Iterations for jobs whose ranks are tied together by pipelines or experts, so that all packs of an
/// iteration have the same SP degree (BatchSetting::one_degree).
///
/// Each sample gets the degree of a set at which it costs least, and the iterations of every degree are cut
/// and composed separately. The set is chosen by trying the most promising ones on some iterations. With
/// window_iterations, samples cannot be moved to iterations of their degree. Then each iteration gets the
/// degree at which it takes the least time.
///
/// costs: of the problem's groups. order: the items to be trained, shuffled. Throws std::invalid_argument if
/// RoundShape::multiple requires packs on all GPUs in every round and there are too few samples for that.
std::vector<ComposedIteration> one_degree_iterations(const BatchProblem& problem, const DegreeCosts& costs,
                                                     std::span<const ItemIndex> order);

}  // namespace packsim
