#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiment/search/group_options.hpp"
#include "experiment/search/plan_candidate.hpp"
#include "experiment/search/plan_space.hpp"
#include "experiment/search/work_floors.hpp"

namespace packsim {

/// Adds plans that differ from one in the length of one group, longer or shorter by this part (1: twice or
/// half as long), or have a group less. Only for strategies whose groups may have any length.
void add_near_lengths(const PlanCandidate& near, double part, GroupOptions& options, WorkFloors& floors,
                      PlanSpace& space);

/// Adds plans that lack the shortest groups of one, for strategies whose groups have different degrees.
void add_fewer_degrees(const PlanCandidate& near, GroupOptions& options, WorkFloors& floors,
                       PlanSpace& space);

/// Adds plans with packs of the same lengths, of which one group's are shared by as many GPUs in another way;
/// or with other options of the strategy, or another number of chunks in each stage of a pipeline.
/// given: the options that the scenario says. bases: the base plans of the search.
void add_near_ways(const PlanCandidate& near, const OptionValues& given, std::span<const ParallelPlan> bases,
                   GroupOptions& options, WorkFloors& floors, PlanSpace& space);

/// Adds plans of other strategies with the same packs. Only for a plan with one group.
void add_other_strategies(const PlanCandidate& near, std::span<const StrategySpec> others,
                          GroupOptions& options, WorkFloors& floors, PlanSpace& space);

}  // namespace packsim
