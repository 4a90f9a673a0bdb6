#pragma once

#include <string_view>

#include "models/styles/launches.hpp"

namespace packsim {

/// What a stack launches for one pass of a part of a layer that is neither a matrix product nor attention.
struct PassKernels {
  double launches = 1;  ///< kernels that the host launches
  /// Bytes that these kernels read and write for each value of the part, between them and from memory. 0:
  /// they are one fused kernel, whose time the hardware profile has.
  double bytes = 0;

  bool operator==(const PassKernels&) const = default;
};

struct PartStyle {
  PassKernels forward = {};
  PassKernels backward = {};

  const PassKernels& of(bool is_forward) const { return is_forward ? forward : backward; }
  bool operator==(const PartStyle&) const = default;
};

/// Kernels of one hop of ring attention that join its results to those before it and take halves of blocks.
/// The bytes are Transformer Engine's (transformer_engine.hpp), in every style: no ring is known to move
/// less, and some add up in fp32.
struct HopCopies {
  double launches = 1;
  // Bytes that they read and write for each value of the queries, and of the keys and values together.
  double query_bytes = 0;
  double key_value_bytes = 0;

  bool operator==(const HopCopies&) const = default;
};

inline constexpr PartStyle kNoLaunches = {.forward = {.launches = 0}, .backward = {.launches = 0}};

/// How a stack computes what is neither a matrix product nor attention: which kernels it launches for each
/// part of a layer, what they move, and what they keep for the backward pass. Each style is one file of this
/// folder and a row of kernel_styles.hpp. Time, memory, the host's launches and coverage follow from it.
struct KernelStyle {
  std::string_view name;
  std::string_view text;  ///< who runs layers like this

  PartStyle norm = {};
  PartStyle gemma_norm = {};  ///< a norm that multiplies by 1 + weight in fp32, as Gemma's
  PartStyle rope = {};
  PartStyle activation = {};
  PartStyle residual_add = {};
  PartStyle embedding =
      {};  ///< with the tables of rotary positions and the copies of the inputs; launches only

  // What is kept for the backward pass, in bytes for each value. A product that reads a norm's output keeps
  // it as well.
  double norm_kept_bytes = 0;
  double gemma_norm_kept_bytes = 0;
  double activation_kept_bytes = 0;
  /// The relative error of a peak of memory, which is also the share that searches leave free.
  double memory_error = 0;

  // Attention: launches, and bytes that the backward pass moves beside the kernel for each value of queries,
  // and of keys and values together.
  double attention_launches = 1;
  double attention_backward_launches = 1;
  // Ring attention: copies of each hop, and what its first step, beside the kernels of attention on one GPU,
  // and each further one launch.
  Launches ring = {};
  Launches ring_hop = {};
  HopCopies hop_forward = {.query_bytes = 5.5, .key_value_bytes = 1};
  HopCopies hop_backward = {.query_bytes = 7.5, .key_value_bytes = 5.5};
  double query_copy_bytes = 0;
  double key_value_copy_bytes = 0;

  /// Whether products with the same input are kernels of their own, so that the gradients of that input have
  /// to be added up.
  bool adds_input_gradients = false;
  /// Whether the gradient of a bias is a kernel of its own, and its casts under autocast are too.
  bool sums_bias_gradients = false;
  // Where one product makes queries, keys and values and another gate and up
  // (Transformer::fused_projections): for each value of their outputs, and for each that is rotated, beside
  // the rotation.
  PartStyle qkv_slices = kNoLaunches;
  PartStyle gate_up_slices = kNoLaunches;
  PartStyle rotated_slices = kNoLaunches;
  // Beside the two products of a LoRA adapter: for each value of its input, and of its output.
  PartStyle adapter_input = kNoLaunches;
  PartStyle adapter_output = kNoLaunches;

  // Seconds of the host, in launches of a plain PyTorch op (ExecutionStyle::launch_s).
  double launch_cost = 1;  ///< of one launch
  double recomputed_launch_cost =
      1;                       ///< of one launch in a recomputed layer, whose tensors are packed and unpacked
  double layer_launches = 0;   ///< in each pass through a layer, beside its kernels
  double varlen_launches = 0;  ///< of attention over several documents, in each pass through a layer
  /// How often the host waits for the GPU in each layer's backward pass of ring attention over several
  /// documents, because it reads a value.
  int varlen_ring_reads = 0;
  double tensor_launches = 0;  ///< in each step, for every tensor that is trained

  double kept_of_norm(bool is_gemma) const { return is_gemma ? gemma_norm_kept_bytes : norm_kept_bytes; }

  bool operator==(const KernelStyle&) const = default;
};

}  // namespace packsim
