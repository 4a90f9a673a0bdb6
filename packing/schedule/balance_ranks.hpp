#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/pack_set.hpp"

namespace packsim {

/// What balance_ranks() divides: samples that are all at hand, such as the rollouts of one step.
struct BalanceRequest {
  std::span<const std::int32_t> lengths_tokens;  ///< [n_samples], each in 1..token_budget
  std::int64_t n_ranks = 1;                      ///< at most the number of samples
  std::int64_t token_budget = 0;                 ///< most tokens of a micro-batch
  /// [n_samples], each finite and >= 0. Empty: s x (linear_weight_tokens + s) for a sample of s tokens, which
  /// is its work in a decoder layer up to a factor.
  std::span<const double> costs = {};
  std::int64_t linear_weight_tokens = 24576;  ///< verl's, six times the hidden size of a model of 7B
};

/// Micro-batches of all ranks, as many on every rank and none empty.
struct RankBalance {
  /// [n_ranks x micro_batches_per_rank] packs, rank after rank. Those of a rank are by descending cost, so
  /// that ranks that wait for each other after every micro-batch run similar ones together.
  PackSet micro_batches;
  std::int64_t micro_batches_per_rank = 0;
  std::vector<double> rank_costs;  ///< [n_ranks]
};

/// Divides samples over ranks so that ranks cost nearly the same, and over micro-batches within the budget.
///
/// Samples are taken by descending share of the budget or of a rank's cost, into the rank of the least cost
/// that has room, and there into the micro-batch of most room. The number of micro-batches per rank is the
/// first, from the fewest that could hold the tokens on, for which all samples find a place and the largest
/// rank costs at most 1 % more than the larger of the mean and the costliest sample; if there is none among
/// the next few, the number with the smallest largest rank. O(N (log N + R)), with ties decided by sample and
/// rank number.
///
/// Throws std::invalid_argument for arguments out of range, and where samples are too few to give every rank
/// as many micro-batches as the budget asks for.
RankBalance balance_ranks(const BalanceRequest& request);

}  // namespace packsim
