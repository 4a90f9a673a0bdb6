#pragma once

#include <cstdint>
#include <span>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Roughly how many seconds one thread takes to pack and simulate the scenario's strategies, from the numbers
/// of samples, iterations and GPUs alone. Its error has not been measured. What pricing, search and the
/// planner add is not in it, so work can be long that it calls short. isf is taken to dissolve packs in every
/// one of its rounds.
///
/// at_op_level: whether operations of single GPUs are simulated.
double estimated_work_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                        bool at_op_level);

}  // namespace packsim
