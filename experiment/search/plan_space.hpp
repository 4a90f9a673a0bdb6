#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "experiment/search/group_options.hpp"
#include "experiment/search/plan_candidate.hpp"
#include "experiment/search/work_floors.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Floors price packs by curves, which are this close to simulated prices.
inline constexpr double kFloorAccuracy = 0.98;

/// The plans that a search may choose from.
struct PlanSpace {
  std::vector<PlanCandidate> candidates;
  std::int64_t n_too_large = 0;  ///< plans that do not fit in memory, which are not among the candidates
};

/// The least time of an epoch of the samples under any plan of a base plan, to kFloorAccuracy: no layer is
/// recomputed and nothing waits.
double least_s(const ParallelPlan& base, GroupOptions& options, WorkFloors& floors);

/// The floor of a candidate with the layers that it has to checkpoint. Only where it has least_groups.
double own_floor_s(const PlanCandidate& candidate, const Scenario& scenario, WorkFloors& floors);

/// What steps take of it in addition to their packs, by packs of the first way to share them.
double steps_s(const ParallelPlan& base, GroupOptions& options, WorkFloors& floors);

/// Adds the plans of one strategy that start from a base plan. Every pack length is at least
/// that of the longest sample or, if groups have several lengths, the last one is.
///
/// - Strategies of one group: every degree of sequences with every pack length of which full packs make up an
///   iteration of the size asked for.
/// - hbp: sets of such groups, of which the longest holds every sample, and those of HBP's algorithm 1.
/// - Strategies that mix degrees in an iteration: one group for each degree, with as many tokens on each GPU
///   as fit with a number of checkpointed layers.
/// - A strategy that chooses its groups itself: the base plan.
///
/// simpler: simpler_plans() of the base plan; packs with which one of these is as fast are left out.
/// options: of the scenario and its longest sample. floors: of the samples that are simulated.
void add_plans(const StrategySpec& spec, const ParallelPlan& base,
               std::span<const ParallelPlan* const> simpler, GroupOptions& options, WorkFloors& floors,
               PlanSpace& space);

/// The candidate with each other of the strategy's searched_options, and with none of them.
/// given: the options that the scenario says.
std::vector<PlanCandidate> with_other_options(const PlanCandidate& candidate, const OptionValues& given);

/// The candidate with other packs or another base plan; none if full packs of a part of the
/// samples do not fit in memory.
std::optional<PlanCandidate> with_packs(const PlanCandidate& candidate, const ParallelPlan& base,
                                        std::span<const GroupSpec> groups, GroupOptions& options,
                                        WorkFloors& floors);

}  // namespace packsim
