#pragma once

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Heads of the GPU that has most, among the GPUs that share the heads by tensor parallelism and Ulysses.
struct HeadShares {
  int heads = 1;
  /// Key-value heads that its heads need. If more GPUs share them than there are, each has a copy.
  int kv_heads = 1;
};

/// Even shares if the degrees divide the heads. Else (ParallelPlan::uneven_heads) each GPU of a Ulysses group
/// has the same number, rounded up, and the last ones have fewer or padding; all wait for those that have
/// most.
HeadShares head_shares(const Transformer& model, const ParallelPlan& plan);

}  // namespace packsim
