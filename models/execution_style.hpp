#pragma once

#include <cstdint>

namespace packsim {

/// How a training framework goes about a step, whatever the degrees of parallelism. A framework profile says
/// what its framework does; a plan does the same unless its scenario says otherwise.
struct ExecutionStyle {
  /// Gradients and weights that travel in one collective. The default is DeepSpeed's.
  std::int64_t bucket_elements = 500'000'000;
  /// Gradients are added up, and travel, in fp32 instead of bf16.
  bool fp32_gradients = false;
  /// Weights and gradients travel beside computation. Otherwise computation waits for them, and gradients
  /// that travel once a step wait for the end of the backward pass (DeepSpeed's ZeRO 1 without overlap_comm).
  bool overlaps_states = true;
  /// ZeRO 1 and 2: changed weights are gathered beside the next step's first forward pass (Megatron-LM's
  /// overlap_param_gather). Otherwise they are gathered behind the optimizer.
  bool overlaps_gather = false;
  /// Tensor-parallel exchange goes on piece by piece beside the products next to it (tensor_overlap.hpp).
  bool overlaps_tensor = false;
  /// torch's non-reentrant checkpoint ends the recomputation at the last tensor that the backward pass needs,
  /// before the down projection and the residual add. The reentrant one runs the whole layer.
  bool recompute_stops_early = false;

  bool operator==(const ExecutionStyle&) const = default;
};

}  // namespace packsim
