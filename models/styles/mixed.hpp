#pragma once

#include "models/styles/eager.hpp"
#include "models/styles/fused.hpp"

namespace packsim {

/// A stack of which it is not known what it fuses: the published steps to which profiles are fitted come from
/// several. Its kernels take the time of fused ones, and the profile's factor makes up for it; the host
/// launches and memory holds what eager code does.
inline constexpr KernelStyle kMixedKernels = [] {
  KernelStyle style = kEagerKernels;
  style.name = "mixed";
  style.text = "it is not known which: priced as fused, with the launches and the memory of eager kernels";
  for (PartStyle* part : {&style.norm, &style.gemma_norm, &style.rope, &style.activation, &style.residual_add,
                          &style.qkv_slices, &style.gate_up_slices, &style.rotated_slices,
                          &style.adapter_input, &style.adapter_output})
    part->forward.bytes = part->backward.bytes = 0;
  style.query_copy_bytes = style.key_value_copy_bytes = 0;
  style.adds_input_gradients = style.sums_bias_gradients = false;
  style.memory_error = 0.1;
  return style;
}();

}  // namespace packsim
