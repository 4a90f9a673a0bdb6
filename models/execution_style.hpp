#pragma once

#include <cstdint>

namespace packsim {

/// How a training framework executes a step, apart from the degrees of parallelism. A framework profile says
/// what its framework does; a plan does the same unless its scenario says otherwise.
struct ExecutionStyle {
  /// Number of gradients or weights that are sent in one collective. The default is DeepSpeed's.
  std::int64_t bucket_elements = 500'000'000;
  /// Gradients are accumulated and sent in fp32 instead of bf16.
  bool fp32_gradients = false;
  /// Weights and gradients are sent while the GPU computes. Otherwise computation waits for them, and
  /// gradients that are sent once a step are sent after the backward pass (DeepSpeed's ZeRO 1 without
  /// overlap_comm).
  bool overlaps_states = true;
  /// ZeRO 1 and 2: changed weights are gathered during the next step's first forward pass (Megatron-LM's
  /// overlap_param_gather). Otherwise they are gathered after the optimizer.
  bool overlaps_gather = false;
  /// Tensor-parallel communication runs piece by piece beside the matrix products before or after it
  /// (tensor_overlap.hpp).
  bool overlaps_tensor = false;
  /// Recomputation ends at the last tensor that the backward pass needs, before the down projection and the
  /// residual add, as in torch's non-reentrant checkpoint. Otherwise it runs the whole layer, as in the
  /// reentrant one.
  bool recompute_stops_early = false;

  bool operator==(const ExecutionStyle&) const = default;
};

}  // namespace packsim
