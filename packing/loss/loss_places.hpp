#pragma once

#include <span>
#include <vector>

#include "packing/loss/normalisers.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

/// The place of each pack of an iteration, for any number of normalisers. Keeps its memory from iteration to
/// iteration.
class LossPlaces {
 public:
  /// All is kept by reference. losses: [n_groups][n_packs], of count_losses().
  LossPlaces(const Schedule& schedule, std::span<const std::vector<LossCounts>> losses);

  /// [n packs of the iteration]; a pack without loss tokens has no gpu_share. Valid until the next call.
  std::span<const LossPlace> of(const Iteration& iteration);

 private:
  const Schedule& schedule_;
  std::span<const std::vector<LossCounts>> losses_;
  std::vector<std::uint32_t> n_packs_;  // [n_gpus] of the iteration
  std::vector<double> one_over_ = {0};  // [n] 1 / n; of 0 nothing asks
  std::vector<LossPlace> places_;
};

}  // namespace packsim
