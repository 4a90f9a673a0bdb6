#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace packsim {

/// Seconds as straight lines between points, and on beyond the last two.
struct CostCurve {
  std::vector<std::int64_t> tokens;  ///< [n_points], ascending; none: no time at all
  std::vector<double> time_s;        ///< [n_points]

  double at(std::int64_t tokens_at) const;
};

/// What a pack of some group takes on each of its GPUs, forward and backward, once all of them have started.
/// Everything that depends on the number of tokens, recomputation and exchange included, is one curve; the
/// attention of each document is another. Documents run side by side, so attention takes as long as all of
/// them, or as the longest, and a little more where these are near each other.
struct PackCost {
  CostCurve tokens_s;              ///< of all the pack's tokens
  CostCurve document_s;            ///< of one document's
  double longest_s_per_token = 0;  ///< of the longest document

  /// documents_s: the sum over the pack's documents.
  double pack_s(std::int64_t pack_tokens, double documents_s, std::int64_t longest_tokens = 0) const {
    const double longest_s = longest_s_per_token * static_cast<double>(longest_tokens);
    if (longest_s <= 0) return tokens_s.at(pack_tokens) + documents_s;
    const double square = documents_s * documents_s;
    const double longest_square = longest_s * longest_s;
    return tokens_s.at(pack_tokens) + std::sqrt(std::sqrt(square * square + longest_square * longest_square));
  }
};

/// Every pack's share of a cost, for items of these lengths.
double pack_time_s(const PackCost& cost, std::span<const std::int32_t> lengths_tokens);

}  // namespace packsim
