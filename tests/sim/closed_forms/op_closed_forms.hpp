#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/sim_time.hpp"

namespace packsim {

/// What graphs of operations must come to where arithmetic can tell. The tests hold the engine to these, so
/// they share no code with it. Counts are 1 or more.

/// All-reduce around a ring: n - 1 steps to add up and n - 1 to hand round, each passing every rank's chunk
/// on. chunk: to pass 1/n of the data on. Source: Patarasuk and Yuan 2009, doi 10.1016/j.jpdc.2008.09.002.
SimTime ring_all_reduce_time(std::int64_t n_ranks, SimTime chunk);

/// Down a complete binary tree, where a node sends to one child after the other: two sends a level.
SimTime binary_tree_time(std::int64_t n_levels, SimTime send);

/// Every rank sends to every other at once, over links that carry one message in `message`.
SimTime all_to_all_time(std::int64_t n_ranks, SimTime message);

/// A pipeline of p stages over m micro-batches, 1F1B: (m + p - 1) (forward + backward). With v chunks of
/// layers a stage (m a multiple of p), interleaved: m v + p - 1 times those of a chunk. forward, backward: of
/// one chunk. Source: Megatron-LM, arXiv 2104.04473, section 2.2.
SimTime pipeline_time(std::int64_t n_stages, std::int64_t n_micro_batches, std::int64_t n_chunks,
                      SimTime forward, SimTime backward);

/// L layers whose weights are gathered one layer ahead of their computation (ZeRO-3): the first gather and
/// the last computation are alone, of the others the longer counts.
SimTime prefetch_time(std::int64_t n_layers, SimTime gather, SimTime compute);

/// When transfers end that start together and share one link fairly, where each alone fills it: before the
/// k-th longest ends, k share. alone: [n]; returns [n], to the nanosecond where the sums are whole.
std::vector<SimTime> shared_link_ends(std::span<const SimTime> alone);

/// Computation while a transfer that starts with it takes `transfer`, in whole ratio slow_down: it is done
/// slowed down, or the transfer ends first and leaves compute - transfer / slow_down. Rounded up.
SimTime slowed_compute_time(SimTime compute, SimTime transfer, std::int64_t slow_down);

}  // namespace packsim
