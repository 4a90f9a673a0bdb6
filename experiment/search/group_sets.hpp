#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiment/search/group_options.hpp"
#include "experiment/search/work_floors.hpp"

namespace packsim {

/// Sets of groups of ascending length for hbp: one that holds every sample and up to three shorter ones. Of
/// the degrees of one length only the cheapest is in a set.
std::vector<std::vector<GroupOption>> group_sets(std::span<const GroupOption> options,
                                                 std::int64_t longest_tokens, WorkFloors& floors);

/// The groups of HBP's algorithm 1 (tune()) for the pack lengths 8K, 16K, ... and the SP degrees 1 to 16, by
/// the prices of full packs; empty if the longest ones do not fit in memory.
std::vector<GroupOption> groups_of_algorithm_1(const ParallelPlan& base, GroupOptions& options,
                                               WorkFloors& floors);

}  // namespace packsim
