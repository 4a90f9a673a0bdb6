#pragma once

#include <array>
#include <string_view>

#include "packing/policies/policies.hpp"

namespace packsim {

/// How the matrices of layers are kept that LoRA freezes. Products are in bf16.
struct FrozenFormat {
  std::string_view name;
  std::string_view text;
  double kept_bytes = 2;  ///< of each value
  /// Bytes that are read and written to make a value in bf16, in each pass.
  double made_bytes = 0;

  bool is_packed() const { return made_bytes > 0; }
  bool operator==(const FrozenFormat&) const = default;
};

inline constexpr FrozenFormat kFrozenBf16 = {.name = "bf16", .text = "frozen weights are in bf16"};
/// QLoRA's 4-bit NormalFloat (arXiv 2305.14314): 4 bits, an 8-bit scale for 64 values, and an fp32 one for
/// 256 of these scales. They are read, and bf16 is written.
inline constexpr double kNf4Bytes = 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
inline constexpr FrozenFormat kNf4 = {.name = "nf4",
                                      .text = "frozen weights are in 4 bits, as QLoRA's",
                                      .kept_bytes = kNf4Bytes,
                                      .made_bytes = kNf4Bytes + 2};
/// GPTQ's 4-bit integers with a scale in fp16 and a zero point of 4 bits for 128 values, as auto-gptq keeps
/// them. Its kernels unpack with several passes over integers; the bytes were fitted to 24 steps of Qwen's
/// Q-LoRA on an A100 (docs/accuracy/user_stacks.md).
inline constexpr FrozenFormat kGptq = {.name = "gptq",
                                       .text = "frozen weights are in 4 bits, as GPTQ's",
                                       .kept_bytes = 0.5 + 2.5 / 128,
                                       .made_bytes = 21.8};

/// AWQ's, kept as GPTQ's. One kernel unpacks them into fp16 where there are 1024 tokens or more, and another
/// makes these bf16 (AutoAWQ, awq/modules/linear/gemm.py). Not measured.
inline constexpr FrozenFormat kAwq = {.name = "awq",
                                      .text = "frozen weights are in 4 bits, as AWQ's",
                                      .kept_bytes = kGptq.kept_bytes,
                                      .made_bytes = kGptq.kept_bytes + 2 + 4};

inline constexpr std::array<PolicyName<const FrozenFormat*>, 4> kFrozenFormats = {{
    {&kFrozenBf16, kFrozenBf16.name, kFrozenBf16.text},
    {&kNf4, kNf4.name, kNf4.text},
    {&kGptq, kGptq.name, kGptq.text},
    {&kAwq, kAwq.name, kAwq.text},
}};

}  // namespace packsim
