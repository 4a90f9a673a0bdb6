#pragma once

#include <cstdint>
#include <string>

#include "planning/tune/profiled_case.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Why the scenario's model and cluster have no such SP degree: "expected a divisor of ..., got 5". Empty
/// where they have it.
std::string degree_mistake(const Scenario& scenario, int sp_degree);

/// Tokens of the smallest iteration, which is one pack for every rank. Where it is over the scenario's
/// tokens_per_iteration, the case cannot be compared with others. The degree is one that the scenario has.
std::int64_t smallest_iteration_tokens(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree);

/// A case before it has run: the fewest checkpointed layers that full packs fit with by the memory model (all
/// of them where none do), their memory, and what keeps it from running, whatever the data; without the two
/// numbers where there can be no such plan.
ProfiledCase planned_case(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree);

}  // namespace packsim
