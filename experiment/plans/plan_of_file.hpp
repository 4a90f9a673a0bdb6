#pragma once

#include <string>

#include "experiment/plans/plan_strategy.hpp"
#include "plan_files/plan_view.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The bytes of a plan file for a strategy that was planned on a scenario's data.
///
/// sample_lengths_tokens: of the data set, before anything is cut. normaliser: of the loss weights.
std::vector<std::byte> plan_file_of(const Scenario& scenario, const StrategySpec& spec,
                                    const PlannedStrategy& plan,
                                    std::span<const std::int32_t> sample_lengths_tokens,
                                    const std::string& version, const std::string& normaliser);

/// The scenario with what a plan decides in place of its own: epochs, tokens of an iteration, the ZeRO stage,
/// and the plan as its only strategy. Throws std::invalid_argument with everything in which plan and scenario
/// do not fit, such as GPUs.
Scenario scenario_of_plan(const Scenario& scenario, const PlanView& plan, const std::string& path);

/// What scenario_of_plan()'s strategy does, packed and scheduled as the plan says.
PlannedStrategy plan_of_file(const Scenario& scenario, const PlanView& plan);

}  // namespace packsim
