#pragma once

#include <cstddef>

#include "models/parallel_plan.hpp"

namespace packsim {

/// A hash of a plan by what searches change: every dimension, the degrees of sequences and checkpointed
/// layers.
struct PlanHash {
  std::size_t operator()(const ParallelPlan& plan) const;
};

}  // namespace packsim
