#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Roughly how many seconds one thread takes to pack and simulate the scenario's strategies and to search the
/// plans of those that leave them open, from the numbers of samples, tokens and GPUs and from the plan alone.
/// At step level the estimate is within a factor of 1.5 in the median of 18 measured runs, each left out of
/// the fit, and of 2.7 in all (docs/performance.md). FlexSP's integer programs and rounds of isf that
/// dissolve packs are not in it.
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
