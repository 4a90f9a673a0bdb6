#pragma once

#include <cstdint>
#include <string>

#include "cli/plan_strategy.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Why the scenario's model and cluster have no such SP degree: "expected a divisor of ..., got 5". Empty
/// where they have it.
std::string degree_mistake(const Scenario& scenario, int sp_degree);

/// Tokens of the smallest iteration, which is one pack for every rank. Times of degrees whose smallest
/// iteration is over the scenario's tokens_per_iteration cannot be compared with the others.
std::int64_t smallest_iteration_tokens(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree);

/// The memory of full packs with the fewest checkpointed layers that fit, all of them where none do. The
/// degree must be one that the scenario has and that divides the pack length.
GroupResult plan_full_packs(const Scenario& scenario, std::int64_t pack_tokens, int sp_degree);

}  // namespace packsim
