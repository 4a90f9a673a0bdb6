#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace packsim {

/// The number format of the matrix products of layers, forward and backward. The router, adapters, attention,
/// the embedding and the head stay in bf16, as do activations between products; AdamW's weights and moments
/// are in fp32, as they are with bf16 products.
enum class Precision : std::uint8_t { bf16, fp8_delayed, fp8_current, fp8_block, mxfp8, nvfp4 };

struct PrecisionKind {
  Precision value;
  std::string_view name;
  std::string_view summary;
  std::string_view dtype;  ///< in the kernel cases of its matrix products
  std::string_view peak;   ///< the rate of its products, in a GPU's file
  /// Bytes that a kernel moves to quantise a value: it reads bf16 and writes the format twice, as it is and
  /// transposed, as the products of the backward pass need it. A scale of the tensor itself takes one more
  /// read.
  int cast_bytes = 0;
  double value_bytes = 2;  ///< of an operand, with the scales of its blocks
};

inline constexpr std::array<PrecisionKind, 6> kPrecisions = {{
    {Precision::bf16, "bf16", "bf16 products", "bf16", "bf16", 0, 2},
    {Precision::fp8_delayed, "fp8_delayed", "fp8, scaled a tensor by the largest values of earlier steps",
     "fp8", "fp8", 4, 1},
    {Precision::fp8_current, "fp8_current", "fp8, scaled a tensor by its own largest value", "fp8", "fp8", 6,
     1},
    {Precision::fp8_block, "fp8_block", "fp8, scaled by blocks: 1 x 128 of activations, 128 x 128 of weights",
     "fp8_block", "fp8", 4, 1},
    // A power of two for 32 values (OCP microscaling formats, version 1.0), found as the block is read.
    {Precision::mxfp8, "mxfp8", "fp8, scaled by blocks of 32 in the tensor core", "mxfp8", "mxfp8", 4,
     1 + 1.0 / 32},
    // An fp8 scale for 16 values and one for the tensor, whose largest value takes a read of its own. Random
    // Hadamard transforms and layers kept in bf16 are not counted (arXiv 2509.25149).
    {Precision::nvfp4, "nvfp4", "fp4, scaled by blocks of 16 in the tensor core", "nvfp4", "nvfp4", 5,
     0.5 + 1.0 / 16},
}};

constexpr const PrecisionKind& precision_kind(Precision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

/// Whether products have operands that are narrower than bf16.
constexpr bool is_narrow(Precision precision) {
  return precision != Precision::bf16;
}

/// The first precision whose products have this dtype in kernel cases; bf16 for a dtype of no other.
constexpr const PrecisionKind& precision_of_dtype(std::string_view dtype) {
  for (const PrecisionKind& kind : kPrecisions)
    if (kind.dtype == dtype) return kind;
  return kPrecisions.front();
}

}  // namespace packsim
