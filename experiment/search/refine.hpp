#pragma once

#include <cstddef>
#include <span>

#include "experiment/pricers/shared_prices.hpp"
#include "experiment/results/plan_search.hpp"
#include "experiment/search/group_options.hpp"
#include "experiment/search/trials.hpp"
#include "models/parallel_plan.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What near plans are made of. All is kept by reference.
struct Refinement {
  const StrategySpec& spec;              ///< the strategy that is searched
  std::span<const StrategySpec> rivals;  ///< other strategies that it may use
  std::span<const ParallelPlan> bases;
  GroupOptions& options;
  ScenarioPricers& pricers;
  PlanSearch& search;  ///< counts the plans
};

/// Tries the packs of the best plan with the other strategies. Then plans near the best one of each of the
/// best strategies: pack lengths between those of the listed
/// ones, and then nearer; then other ways to run these packs, and the lengths near a clearly better one. Of
/// strategies that mix degrees, the best plan without its lowest degrees.
void refine(const Refinement& refinement, Trials& trials, std::size_t most_strategies);

/// Tries plans near the best one whose packs are longer or shorter by this part.
void refine_lengths(const Refinement& refinement, Trials& trials, double part);

}  // namespace packsim
