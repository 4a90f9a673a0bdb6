#pragma once

#include <cstdint>
#include <span>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Checks the options and policies of every strategy against the data, without packing. Throws ScenarioError
/// that lists every mistake, such as over-long samples under the policy `error`.
void check_strategies(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens);

}  // namespace packsim
