#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace packsim {

/// A number of packs below which no packing of these lengths can stay, however it places them.
///
/// Lengths are counted in shares of 1 / (k + 1) of a capacity, as many as are shorter than the length. The
/// shares of a pack are fewer than k + 1, so at least sum / k packs are needed; the largest of these bounds
/// for k up to 32 counts. With k = 1 these are the lengths above half a capacity. The bound is that of dual
/// feasible functions (Fekete and Schepers 2001).
///
/// lengths_tokens: [n], each >= 0; one above the capacity has a pack of its own. capacity_tokens: at least 1.
/// 20 lengths of 40 with a capacity of 97 give 10, as two fit in a pack; their sum fills 8.2.
std::size_t least_packs(std::span<const std::int64_t> lengths_tokens, std::int64_t capacity_tokens);

}  // namespace packsim
