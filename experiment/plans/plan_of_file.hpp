#pragma once

#include <string>

#include "experiment/plans/plan_strategy.hpp"
#include "plan_files/plan_view.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The bytes of a schedule file with the plan of one strategy of the scenario.
///
/// sample_lengths_tokens: of the data set, before anything is cut. normaliser: the name of the loss
/// normaliser that makes the weights in the file. Throws std::invalid_argument for a plan that does not fit
/// in memory, and for what a schedule file cannot say.
std::vector<std::byte> plan_file_of(const Scenario& scenario, const StrategySpec& spec,
                                    const PlannedStrategy& plan,
                                    std::span<const std::int32_t> sample_lengths_tokens,
                                    const std::string& version, const std::string& normaliser);

/// A copy of the scenario with the settings of a schedule file in place of its own: epochs, tokens of an
/// iteration and the ZeRO stage. The file is its only strategy. Throws std::invalid_argument that lists every
/// respect in which file and scenario do not match, such as the number of GPUs.
Scenario scenario_of_plan(const Scenario& scenario, const PlanView& plan, const std::string& path);

/// The packs and the schedule of the file. scenario: what scenario_of_plan() returned for it.
PlannedStrategy plan_of_file(const Scenario& scenario, const PlanView& plan);

}  // namespace packsim
