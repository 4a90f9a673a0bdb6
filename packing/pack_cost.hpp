#pragma once

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
/// attention of each document is another, which adds up.
struct PackCost {
  CostCurve tokens_s;    ///< of all the pack's tokens
  CostCurve document_s;  ///< of one document's

  double pack_s(std::int64_t pack_tokens, double documents_s) const {
    return tokens_s.at(pack_tokens) + documents_s;
  }
};

/// Every pack's share of a cost, for items of these lengths.
double pack_time_s(const PackCost& cost, std::span<const std::int32_t> lengths_tokens);

}  // namespace packsim
