#pragma once

#include "models/styles/kernel_style.hpp"

namespace packsim {

/// The modelling code of Hugging Face transformers as PyTorch runs it: each operation reads and writes
/// memory.
///
/// Launches and bytes were counted under PyTorch's dispatcher: transformers 5.17.0 and peft 0.21.0 on PyTorch
/// 2.13.0 (CPU), as the differences between models of two and three layers. A test counts the launches again
/// (tests/python/trainers/test_torch_launches.py). A kernel that the dispatcher does not show counts as
/// public sources say: 3 of the backward pass of FlashAttention-2, 8 of the embedding's gradient, 2 for each
/// gradient of a slice. What adapters move makes up the counted ratio of a layer with LoRA to one without,
/// 3.0 forward and 1.9 backward.
///
///   norm   to fp32, square, mean, add, inverse root, product, to bf16, product with the weight
///   rope   product, negation, concatenation, product, sum
///   silu, and its product with the other half
///   slices of queries, keys and values: a copy of each before attention; backward zeros and the gradient
///     copied into them for each, and two sums
///   slices of gate and up: backward a concatenation
///   slices that are rotated: a concatenation with the empty rest; backward zeros for the rest, and a sum
///
/// The host's costs were fitted to measured training runs that wait for it (docs/accuracy/transformers.md).
inline constexpr KernelStyle kEagerKernels = {
    .name = "eager",
    .text = "Hugging Face's modelling code, each operation a kernel that reads and writes memory",
    .norm = {.forward = {.launches = 8, .bytes = 36}, .backward = {.launches = 16, .bytes = 92}},
    .gemma_norm = {.forward = {.launches = 10, .bytes = 40}, .backward = {.launches = 17, .bytes = 104}},
    .rope = {.forward = {.launches = 5, .bytes = 20}, .backward = {.launches = 9, .bytes = 28}},
    .activation = {.forward = {.launches = 2, .bytes = 10}, .backward = {.launches = 3, .bytes = 18}},
    .residual_add = {.forward = {.launches = 1, .bytes = 6}, .backward = {.launches = 1, .bytes = 6}},
    .embedding = {.forward = {.launches = 16}, .backward = {.launches = 8}},
    .norm_kept_bytes = 6,
    .gemma_norm_kept_bytes = 8,
    .activation_kept_bytes = 8,
    .memory_error = 0.05,
    .attention_launches = 1,
    .attention_backward_launches = 5,
    .query_copy_bytes = 8,
    .key_value_copy_bytes = 8,
    .adds_input_gradients = true,
    .sums_bias_gradients = true,
    .qkv_slices = {.forward = {.launches = 3, .bytes = 4}, .backward = {.launches = 8, .bytes = 22}},
    .gate_up_slices = {.forward = {.launches = 0}, .backward = {.launches = 1, .bytes = 4}},
    .rotated_slices = {.forward = {.launches = 1, .bytes = 4}, .backward = {.launches = 2, .bytes = 8}},
    .adapter_input = {.forward = {.launches = 2, .bytes = 12}, .backward = {.launches = 2, .bytes = 12}},
    .adapter_output = {.forward = {.launches = 4, .bytes = 16}, .backward = {.launches = 3, .bytes = 16}},
    .recomputed_launch_cost = 2.93,
    .varlen_launches = 32.1,
    .tensor_launches = 3.97,
};

}  // namespace packsim
