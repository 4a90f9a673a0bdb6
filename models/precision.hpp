#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace packsim {

/// The number format of the matrix products of layers, forward and backward. The router, adapters, attention,
/// the embedding and the head stay in bf16, as do activations between products; AdamW's weights and moments
/// are in fp32, as they are with bf16 products.
enum class Precision : std::uint8_t { bf16, fp8_delayed, fp8_current, fp8_block };

struct PrecisionKind {
  Precision value;
  std::string_view name;
  std::string_view summary;
  std::string_view dtype;  ///< in the kernel cases of its matrix products
  /// Bytes that a kernel moves to quantise a value: it reads bf16 and writes fp8 twice, as it is and
  /// transposed, as the products of the backward pass need it. A scale of the tensor itself takes one more
  /// read.
  int cast_bytes = 0;
};

inline constexpr std::array<PrecisionKind, 4> kPrecisions = {{
    {Precision::bf16, "bf16", "bf16 products", "bf16", 0},
    {Precision::fp8_delayed, "fp8_delayed", "fp8, scaled a tensor by the largest values of earlier steps",
     "fp8", 4},
    {Precision::fp8_current, "fp8_current", "fp8, scaled a tensor by its own largest value", "fp8", 6},
    {Precision::fp8_block, "fp8_block", "fp8, scaled by blocks: 1 x 128 of activations, 128 x 128 of weights",
     "fp8_block", 4},
}};

constexpr const PrecisionKind& precision_kind(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

constexpr bool is_fp8(Precision precision) {
  return precision != Precision::bf16;
}

}  // namespace packsim
