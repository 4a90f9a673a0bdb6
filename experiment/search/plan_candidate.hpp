#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "experiment/search/group_options.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// A way to run a strategy, which a search may simulate.
struct PlanCandidate {
  StrategySpec spec;   ///< with its plan, and groups with the checkpointed layers of full packs
  double floor_s = 0;  ///< least time of an epoch of the samples, to about 2 %
  /// The groups with the checkpointed layers that they need in any case, from which a higher floor can be
  /// computed (own_floor_s()); empty if floor_s is that.
  std::vector<GroupOption> least_groups = {};
  bool is_usual = false;  ///< the plan that a framework's documentation leads to
  /// Which of the strategy's searched_options it has, counted from 1; 0: none of them.
  std::size_t option_set = 0;
};

}  // namespace packsim
