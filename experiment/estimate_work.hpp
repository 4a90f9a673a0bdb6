#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Roughly how many seconds one thread takes to pack and simulate the scenario's strategies, from the numbers
/// of samples, iterations and GPUs alone: 0.07 to 29 times the processor time of measured runs, 3.6
/// times in the median (docs/performance.md). What pricing, search and the planner add is not in it, so work
/// can be long that it calls short. isf is taken to dissolve packs in every one of its rounds, which few data
/// make it do.
///
/// at_op_level: whether operations of single GPUs are simulated.
double estimated_work_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                        bool at_op_level);

/// The same for trace_strategy(): one iteration at op level and, if it is chosen by its step time, all of
/// them at step level. scenario: with the traced strategy alone. The text of the trace is not in it.
double estimated_trace_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                         bool is_chosen_by_time);

/// The same for a tuning of n_cases pack lengths and SP degrees, each with packs for n_iterations, and for
/// search_groups(), which packs all samples.
double estimated_tune_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                        std::size_t n_cases, int n_iterations);

}  // namespace packsim
