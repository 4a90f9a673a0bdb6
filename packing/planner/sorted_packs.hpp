#pragma once

#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"

namespace packsim {

/// Iterations as HBP has them: samples that one GPU can hold its share of an iteration of in packs of that
/// many tokens, longer ones in packs of so many GPUs that all fit; packs filled up with shorter samples,
/// sorted by their time and cut into iterations of one round, with as little to wait for as packs of these
/// groups can have. Also packs of one length at each degree that holds all samples; packed by ISF and by best
/// fit: what takes least of these. Where pipelines have to be filled, of the number of rounds that takes
/// least. Empty where the packs do not fit an iteration, or do not fill the rounds of an interleaved
/// pipeline, or where they would take limit_s or more in total.
std::vector<ComposedIteration> sorted_packs(const BatchProblem& problem, const DegreeCosts& costs,
                                            double limit_s);

}  // namespace packsim
