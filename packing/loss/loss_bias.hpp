#pragma once

#include <span>
#include <vector>

#include "packing/loss/normalisers.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

/// How a normaliser's loss differs from the mean over all loss tokens of each iteration. docs/metrics.md has
/// a worked example.
struct LossBias {
  /// Share of the loss's weight that lies on other tokens than it should: half the sum over tokens of the
  /// difference between their share of the weight and 1 / tokens, mean of the iterations. 0: none.
  double misplaced_fraction = 0;
  /// What a token of the long samples weighs, in mean token weights: of the samples that hold the half of
  /// all loss tokens which lies in the longest samples. 1: as much as any other.
  double long_sample_weight = 1;
  /// The sum of all weights of an iteration, least and most of the iterations: 1 where the loss is a mean.
  double least_sum = 1;
  double most_sum = 1;
};

/// Returns the bias over all iterations with loss tokens, [n_normalisers]: samples are looked up once for all
/// normalisers. losses: [n_groups][n_packs], of count_losses().
std::vector<LossBias> loss_bias(const Packing& packing, const Schedule& schedule,
                                const LossTokens& loss_tokens,
                                std::span<const std::vector<LossCounts>> losses,
                                std::span<const Normaliser> normalisers);

/// Returns the bias of one normaliser.
LossBias loss_bias(const Packing& packing, const Schedule& schedule, const LossTokens& loss_tokens,
                   std::span<const std::vector<LossCounts>> losses, const Normaliser& normaliser);

}  // namespace packsim
