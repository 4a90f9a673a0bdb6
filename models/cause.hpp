#pragma once

#include <cstdint>
#include <string_view>

namespace packsim {

/// What a GPU's time is booked on.
enum class Cause : std::uint8_t {
  linear,     ///< matrix products and elementwise kernels, forward and backward
  attention,  ///< forward and backward
  recompute,  ///< both, once more, in checkpointed layers
  sequence,   ///< exchange of Ulysses or ring, the copies that order its data included
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
