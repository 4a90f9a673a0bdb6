#pragma once

#include <cstdint>
#include <span>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Tries every strategy's options and policies on the data, without packing.
/// Throws ScenarioError with all that is refused: over-long samples under the policy `error`, for instance.
void check_strategies(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens);

}  // namespace packsim
