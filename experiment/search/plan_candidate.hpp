#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// A way to run a strategy, which a search may simulate.
struct PlanCandidate {
  StrategySpec spec;      ///< with its plan and groups; the checkpointed layers of full packs
  double floor_s = 0;     ///< less than this no epoch of the samples takes, to about 2 %
  bool is_usual = false;  ///< the plan that a framework's documentation leads to
};

}  // namespace packsim
