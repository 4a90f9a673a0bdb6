#pragma once

#include <string>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim {

/// The groups of a run as tables show them: as they are, or where there are many those of one SP degree as
/// one, with the largest capacity and memory. gc_layers: what the column says of them, "0-30" for several.
struct ShownGroup {
  PlannedGroup group;
  std::string gc_layers;
};
std::vector<ShownGroup> shown_groups(const StrategyResult& run);

}  // namespace packsim
