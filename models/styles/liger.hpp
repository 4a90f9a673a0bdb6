#pragma once

#include "models/styles/eager.hpp"

namespace packsim {

/// Hugging Face's modelling code with Liger's Triton kernels for norms, rotary embedding and activation
/// (linkedin/Liger-Kernel: rms_norm.py at 05dd1f98, swiglu.py at 06e2af7d). A Triton kernel costs the host
/// two to four times as much as an op of PyTorch; the three here are the middle. Not measured.
inline constexpr KernelStyle kLigerKernels = [] {
  KernelStyle style = kEagerKernels;
  style.name = "liger";
  style.text =
      "Hugging Face's modelling code with Liger's kernels for norms, rotary embedding and activation";
  // The backward pass of a norm also sums its weight's gradient over the multiprocessors.
  style.norm = style.gemma_norm = {.forward = {.launches = 3}, .backward = {.launches = 5}};
  style.rope = {.forward = {.launches = 1.5}, .backward = {.launches = 1.5}};
  style.activation = {.forward = {.launches = 3}, .backward = {.launches = 3}};
  // Its rotary embedding copies slices of queries and keys, so that attention need not, and its activation
  // those of gate and up (rope.py and swiglu.py at ead96b61).
  style.gate_up_slices.forward = {.launches = 2, .bytes = 4};
  style.rotated_slices = kNoLaunches;
  style.norm_kept_bytes = style.gemma_norm_kept_bytes = 2;
  style.activation_kept_bytes = 6;
  style.memory_error = 0.08;
  return style;
}();

}  // namespace packsim
