#pragma once

#include "models/styles/eager.hpp"
#include "models/styles/fused.hpp"

namespace packsim {

/// Layers that torch.compile compiles one by one: what lies between two matrix products is one or two Triton
/// kernels. Inductor launches them without PyTorch's dispatcher, for 5 to 8 us where an op takes about 19,
/// and checks its guards for 30 to 60 us in each layer. None of these costs was measured.
inline constexpr KernelStyle kCompiledKernels = [] {
  KernelStyle style = kFusedKernels;
  style.name = "compiled";
  style.text = "layers compiled by torch.compile";
  style.attention_backward_launches = 3;
  style.launch_cost = 0.35;
  style.recomputed_launch_cost = 0.35;
  style.layer_launches = 2.4;
  style.tensor_launches = kEagerKernels.tensor_launches;
  style.memory_error = 0.1;
  return style;
}();

}  // namespace packsim
