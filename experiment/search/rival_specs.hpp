#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// The other strategies whose packs the planner may use, so that it is never slower than one of them: all
/// that train every sample whole. Each has the planner's seed, policies and options of "packing", its own
/// order of packs, and, if it only packs, balanced iterations as well. Like the planner's own, their last
/// iterations are shorter, where a pipeline allows that.
///
/// Empty for every other strategy, and for a planner that has to keep samples near their place in the
/// shuffle. The first n_scouts() stand for all of them when parallelism is compared.
std::vector<StrategySpec> rival_specs(const Scenario& scenario, const StrategySpec& planner);
std::ptrdiff_t n_scouts(std::span<const StrategySpec> rivals);

}  // namespace packsim
