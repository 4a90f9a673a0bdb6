#pragma once

#include <cstdint>
#include <string>

#include "planning/tune/profiled_case.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The reason why this SP degree is impossible for the scenario's model and cluster, such as "expected a
/// divisor of ..., got 5"; empty if it is possible.
std::string degree_mistake(const Scenario& scenario, int sp_degree);

/// Tokens of the smallest iteration, which has one pack for every rank. If these are more than the scenario's
/// tokens_per_iteration, the case cannot be compared with others. sp_degree: one for which degree_mistake()
/// is empty.
std::int64_t smallest_iteration_tokens(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree);

/// A case before it is run: the fewest checkpointed layers with which full packs fit by the memory model (all
/// layers if they never fit), the peak memory with these, and the reason, if any, why it cannot run on any
/// data. If no parallel plan with this length and degree is possible, layers and memory are not set.
ProfiledCase planned_case(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree);

}  // namespace packsim
