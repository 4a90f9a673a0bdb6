#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "experiment/results/plan_search.hpp"
#include "planning/tune/tune.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Searches the groups of hbp on the scenario's data (find_plan()), at the scenario's ZeRO stage and with the
/// policies of its first strategy hbp or else of its first strategy. The tuned groups are tried too:
/// PlanSearch::usual says what the run takes with them. None if nothing fits in memory.
std::optional<PlanSearch> search_groups(const Scenario& scenario, std::span<const TunedGroup> tuned,
                                        std::span<const std::int32_t> lengths_tokens);

}  // namespace packsim
