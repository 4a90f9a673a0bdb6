#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "experiment/results/strategy_result.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

/// The step times that shares of the steps do not exceed: n_quantiles values, or as many as there are steps,
/// ascending. Value k of n is the smallest step time that at least (k + 1) / n of all steps do not exceed, so
/// the last one is the slowest step.
///
/// step_s: [n_iterations]. Throws std::invalid_argument where n_quantiles is zero.
std::vector<double> step_quantiles(std::span<const double> step_s, std::size_t n_quantiles);

/// The place of the step in the middle when steps are sorted by time, equal ones by place; of an even number,
/// the faster of the two in the middle. step_s: not empty.
std::size_t median_step(std::span<const double> step_s);
/// The place of the first of the slowest steps. step_s: not empty.
std::size_t slowest_step(std::span<const double> step_s);

/// The slowest steps, at most `n`, the slowest first; of equally slow ones the earlier first.
///
/// batches: [n_groups][n_packs]. step_s, abr: [n_iterations of the schedule].
std::vector<SlowStep> slowest_steps(const Schedule& schedule,
                                    std::span<const std::vector<MicroBatch>> batches,
                                    std::span<const double> step_s, std::span<const double> abr,
                                    std::size_t n);

}  // namespace packsim
