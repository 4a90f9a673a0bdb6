#pragma once

#include <array>
#include <string_view>

#include "packing/policies/policies.hpp"

namespace packsim {

/// An optimizer with the number formats of weights, gradients and states, in bytes for each trained
/// parameter.
struct OptimizerKind {
  std::string_view name;
  std::string_view text;
  double weight_bytes = 2;    ///< of the weights with which layers compute, or which they cast to bf16
  double gradient_bytes = 2;  ///< as the optimizer reads it, unless the plan keeps fp32 gradients
  double state_bytes = 12;    ///< of master weights and moments
  double moved_bytes = 28;    ///< read and written on the GPU in a step
  bool is_paged = false;      ///< its states live in the host's memory and cross the bus in every step
  /// Muon: matrices of layers are orthogonalised by five steps of Newton-Schulz; all else is AdamW's.
  bool orthogonalises = false;

  /// Layers compute in bf16 with copies of them.
  bool has_fp32_weights() const { return weight_bytes == 4; }
  bool operator==(const OptimizerKind&) const = default;
};

inline constexpr OptimizerKind kAdamW = {
    .name = "adamw", .text = "AdamW with master weights and two moments in fp32, beside bf16 weights"};
inline constexpr OptimizerKind kAdamWBf16 = {.name = "adamw_bf16",
                                             .text = "AdamW with weights, gradients and both moments in bf16",
                                             .state_bytes = 4,
                                             .moved_bytes = 14};
inline constexpr OptimizerKind kAdamWFp32 = {
    .name = "adamw_fp32",
    .text = "AdamW with weights, gradients and both moments in fp32; products in bf16 under autocast",
    .weight_bytes = 4,
    .gradient_bytes = 4,
    .state_bytes = 8,
    .moved_bytes = 28};
// bitsandbytes: a moment of 8 bits, and a scale in fp32 for each block of 256.
inline constexpr OptimizerKind kAdamW8Bit = {
    .name = "adamw_8bit",
    .text = "AdamW with bf16 weights and both moments in 8 bits (bitsandbytes)",
    .state_bytes = 2 + 2 * 4.0 / 256,
    .moved_bytes = 10};
inline constexpr OptimizerKind kPagedAdamW8Bit = {
    .name = "paged_adamw_8bit",
    .text = "the same with moments that are paged to the host's memory",
    .state_bytes = kAdamW8Bit.state_bytes,
    .moved_bytes = kAdamW8Bit.moved_bytes,
    .is_paged = true};
inline constexpr OptimizerKind kPagedAdamW = {
    .name = "paged_adamw",
    .text = "AdamW with bf16 weights and both moments in fp32, paged to the host's memory (bitsandbytes)",
    .state_bytes = 8,
    .moved_bytes = 22,
    .is_paged = true};
// Second moments of a matrix are a row and a column; the update is made in fp32, in about five passes.
inline constexpr OptimizerKind kAdafactor = {.name = "adafactor",
                                             .text = "Adafactor without a first moment, beside bf16 weights",
                                             .state_bytes = 0,
                                             .moved_bytes = 40};
inline constexpr OptimizerKind kLion = {
    .name = "lion", .text = "Lion with weights and momentum in bf16", .state_bytes = 2, .moved_bytes = 10};
inline constexpr OptimizerKind kMuon = {
    .name = "muon",
    .text = "Muon with weights and momentum in bf16; AdamW in bf16 for embedding and head",
    .state_bytes = 2,
    .moved_bytes = 10,
    .orthogonalises = true};

inline constexpr std::array<PolicyName<const OptimizerKind*>, 9> kOptimizerKinds = {{
    {&kAdamW, kAdamW.name, kAdamW.text},
    {&kAdamWBf16, kAdamWBf16.name, kAdamWBf16.text},
    {&kAdamWFp32, kAdamWFp32.name, kAdamWFp32.text},
    {&kAdamW8Bit, kAdamW8Bit.name, kAdamW8Bit.text},
    {&kPagedAdamW8Bit, kPagedAdamW8Bit.name, kPagedAdamW8Bit.text},
    {&kPagedAdamW, kPagedAdamW.name, kPagedAdamW.text},
    {&kAdafactor, kAdafactor.name, kAdafactor.text},
    {&kLion, kLion.name, kLion.text},
    {&kMuon, kMuon.name, kMuon.text},
}};

}  // namespace packsim
