#pragma once

#include <cstdint>
#include <vector>

#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// Why HBP's algorithm 1 lists a pack length.
enum class LengthRole {
  gpu_of_fastest,  ///< l1: what one GPU holds of a pack of the fastest length
  fastest,         ///< l_best
  gpu_of_longest,  ///< l2: what one GPU holds of a pack of the longest length
  longest,         ///< l_max
};

struct ListedLength {
  std::int64_t pack_tokens = 0;
  LengthRole role = LengthRole::fastest;

  bool operator==(const ListedLength&) const = default;
};

/// A length and the SP degree that it runs fastest with.
struct LengthAndDegree {
  std::int64_t pack_tokens = 0;
  SequenceParallelism sequence = {};
};

/// The lengths of the groups by HBP's algorithm 1 (arXiv 2503.07680), ascending: l1 = floor(l_best / SP),
/// l_best, l2 = floor(l_max / SP) if that is over l_best, and l_max. Equal lengths are all listed.
///
/// Throws std::invalid_argument unless 1 <= SP degree <= length of both and fastest <= longest.
std::vector<ListedLength> listed_lengths(const LengthAndDegree& fastest, const LengthAndDegree& longest);

/// The lengths of the groups: each of the listed ones once.
std::vector<std::int64_t> merged_lengths(const std::vector<ListedLength>& listed);

}  // namespace packsim
