#pragma once

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

/// The groups of a run as one text, for programs: "capacity_tokens:sp_degree:gc_layers;...".
std::string group_summary(const StrategyResult& run);

}  // namespace packsim
