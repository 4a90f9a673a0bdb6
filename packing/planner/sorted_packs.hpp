#pragma once

#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"

namespace packsim {

/// Iterations in the form of HBP's: packs of one or two lengths are sorted by their time and cut into
/// iterations, so that packs which are trained together take about equally long.
///
/// An iteration has one round or, if a pipeline has to be filled, several. The length of a pack is such that
/// one pack on every GPU in every round has the tokens of an iteration. These choices are tried, each packed
/// by ISF and by best fit:
///
/// - one length, at every SP degree at which a pack holds the longest sample;
/// - at the smallest such degree, also with shorter packs of the smallest degree of all for samples that fit
///   in these. Longer packs are then topped up with shorter samples.
///
/// Returns the choice that takes the least time, or nothing if no choice holds all samples, fills the rounds
/// of an interleaved pipeline and takes less than limit_s in total.
std::vector<ComposedIteration> sorted_packs(const BatchProblem& problem, const DegreeCosts& costs,
                                            double limit_s);

}  // namespace packsim
