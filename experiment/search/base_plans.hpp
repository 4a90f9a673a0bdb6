#pragma once

#include <span>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// The ZeRO stages that a strategy may choose, ascending; empty if it has the one of its plan. A strategy
/// that names none may choose 1, 2, 3 and its plan's if its plan is searched.
std::vector<int> choice_of_zero_stages(const Scenario& scenario, const StrategySpec& spec);

/// The parallel plans that a search starts from, without degrees of sequences: the strategy's own plan with
/// each value of every dimension (scenarios/search_space) that it may choose and that is possible. A strategy
/// that may use the packs of others also starts from their plans, if these execute steps in the same way.
std::vector<ParallelPlan> base_plans(const Scenario& scenario, const StrategySpec& spec);

/// The same. Throws std::invalid_argument with the reason if there is none: model and cluster allow none, or
/// the strategy's code or the scenario's trainer can run none.
std::vector<ParallelPlan> some_base_plans(const Scenario& scenario, const StrategySpec& spec);

/// Of the plans that a search starts from, those that need more memory than this one, and no more time where
/// they fit: with nothing in host memory, or layers checkpointed whole.
std::vector<const ParallelPlan*> simpler_plans(const ParallelPlan& plan, std::span<const ParallelPlan> bases);

/// The plan that computes no more than this one: with nothing in host memory, layers checkpointed whole, and
/// one chunk of layers in a stage.
ParallelPlan root_of(const ParallelPlan& plan);

/// Whether a plan that the search starts from is the strategy's own.
bool is_usual_base(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& base);

}  // namespace packsim
