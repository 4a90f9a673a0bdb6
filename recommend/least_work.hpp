#pragma once

#include <string_view>

#include "experiment/shared_work.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What the scenario's job takes at least on its cluster, whatever the strategy.
struct LeastWork {
  double gpu_hours = 0;
  std::string_view
      basis;  ///< continues "takes at least 3 h": "with any schedule", or "at the peak of its GPUs"
};

/// The lower bound of docs/bound.md over the plans that the strategies may have, where it holds for all that
/// they may train; else the model's flop at the peak rate of matrix products, or 0 where that is not stated.
LeastWork least_work(const Scenario& scenario, SharedWork& shared);

}  // namespace packsim
