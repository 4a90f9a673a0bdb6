#pragma once

#include <cstdint>
#include <span>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Roughly how many seconds one thread of a current machine takes to pack and simulate the scenario's
/// strategies; good to a factor of 3 or so where packing and simulating take most of the time. What search
/// and the planner's own pricing add is not in it.
///
/// at_op_level: whether operations of single GPUs are simulated.
double estimated_work_s(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens,
                        bool at_op_level);

}  // namespace packsim
