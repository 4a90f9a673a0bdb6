#pragma once

#include <cstdint>
#include <string_view>

namespace packsim {

/// What a GPU spends its time on.
enum class Cause : std::uint8_t {
  linear,     ///< matrix products and elementwise kernels, forward and backward
  attention,  ///< attention kernels, forward and backward
  recompute,  ///< the second forward pass of checkpointed layers
  sequence,   ///< communication of Ulysses or ring attention, and the copies that reorder its data
  tensor,     ///< communication of tensor parallelism
  expert,     ///< communication of expert parallelism
  pipeline,   ///< transfers of activations and their gradients between pipeline stages
  states,     ///< transfers of gradients and weights between data-parallel ranks; with offload, copies for
              ///< passes
  optimizer,  ///< AdamW, and with offload its copies to and from the host
  overhead,   ///< fixed costs of the framework
};
inline constexpr int kNCauses = 10;
std::string_view cause_name(Cause cause);

}  // namespace packsim
