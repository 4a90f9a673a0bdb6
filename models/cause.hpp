#pragma once

#include <cstdint>
#include <string_view>

namespace packsim {

/// What a GPU spends its time on.
enum class Cause : std::uint8_t {
  linear,     ///< matrix products and elementwise kernels, forward and backward
  attention,  ///< forward and backward
  recompute,  ///< the forward pass of checkpointed layers, once more
  sequence,   ///< exchange of Ulysses or ring, and the copies that order its data
  tensor,     ///< exchange of tensor parallelism
  expert,     ///< exchange of expert parallelism
  pipeline,   ///< activations from stage to stage
  states,     ///< gradients and weights: ZeRO, data parallelism
  optimizer,  ///< AdamW and its transfers
  overhead,   ///< fixed costs of the framework
};
inline constexpr int kNCauses = 10;
std::string_view cause_name(Cause cause);

}  // namespace packsim
