#pragma once

#include <span>
#include <vector>

#include "packing/loss/normalisers.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

/// [n_placed] the weight of each placed pack under a normaliser: what the loss of each of its tokens is
/// multiplied by, after division by the loss tokens of the token's sample where the normaliser is per_sample.
/// 0 for packs without loss tokens. An iteration that is trained in several epochs has the same weights in
/// each.
///
/// losses: [n_groups][n_packs], of count_losses().
std::vector<double> loss_weights(const Schedule& schedule, std::span<const std::vector<LossCounts>> losses,
                                 const Normaliser& normaliser);

}  // namespace packsim
