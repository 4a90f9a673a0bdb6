#pragma once

#include "models/styles/fused.hpp"

namespace packsim {

/// Megatron-Core with Transformer Engine: a norm and the product behind it are one module, queries, keys and
/// values one product, and weight gradients add up in the product that makes them. Its modules cost the host
/// more than PyTorch's: 91 against 33 us a linear layer from a Grace CPU (NVIDIA/TransformerEngine, issue
/// 2053), nearly the same since 2026 (issue 2126).
inline constexpr KernelStyle kTransformerEngineKernels = [] {
  KernelStyle style = kFusedKernels;
  style.name = "transformer_engine";
  style.text = "Megatron-Core with Transformer Engine's fused modules";
  style.attention_backward_launches = 3;
  style.launch_cost = 1.5;
  style.recomputed_launch_cost = 1.5;
  style.memory_error = 0.1;
  return style;
}();

}  // namespace packsim
