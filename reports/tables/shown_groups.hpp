#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim {

/// The groups of a run as tables show them: as they are, or where there are many those of one SP degree as
/// one, with the largest capacity and memory.
struct ShownGroup {
  PlannedGroup group;
  std::string gc_layers;  ///< what the column says of them, "0-30" for several
  std::string capacity;   ///< the same: "3,104-9,514"
};
std::vector<ShownGroup> shown_groups(const StrategyResult& run);

/// "70.4 of 79.6 GiB", and whether that may not fit.
std::string memory_text(const PlannedGroup& group);

/// The groups of a run as one text: "16384 tokens, SP 1; 174752 tokens, SP 8, CP 4, GC 12". plan: of the
/// run.
std::string groups_text(const ParallelPlan& plan, std::span<const PlannedGroup> groups);

}  // namespace packsim
