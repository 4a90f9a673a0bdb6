#pragma once

#include <span>
#include <vector>

#include "sim/barrier.hpp"
#include "sim/sim_time.hpp"

namespace packsim {

/// What simulated times must come to where arithmetic can tell. The tests hold the engine to these, so they
/// share no code with it.
///
/// ranks: [n_ranks][micro-batches of that rank], durations in the order in which they run. Ranks may have
/// different numbers of micro-batches, or none.

/// Time of one step, without its fixed cost. Barrier::iteration: the largest sum of a rank.
/// Barrier::micro_batch: the m-th micro-batches of all ranks make a wave; the sum over waves of the longest
/// in each.
SimTime step_time(std::span<const std::vector<SimTime>> ranks, Barrier barrier);

/// No way to deal these micro-batches out to as many ranks is faster: neither than a fair share of the work,
/// rounded up, nor than the longest micro-batch.
SimTime step_lower_bound(std::span<const std::vector<SimTime>> ranks);

/// Steps one after another, each followed by the fixed cost.
SimTime run_time(std::span<const SimTime> steps, SimTime iteration_cost);

/// The share of the ranks' time in the step that goes to waiting; 0 where nobody has anything to do.
/// Two ranks with 4 and 8: 4 of 16, 0.25.
double idle_fraction(std::span<const std::vector<SimTime>> ranks, Barrier barrier);

}  // namespace packsim
