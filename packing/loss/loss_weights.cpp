#include "packing/loss/loss_weights.hpp"

namespace packsim {

std::vector<double> loss_weights(const Schedule& schedule, std::span<const std::vector<LossCounts>> losses,
                                 const Normaliser& normaliser) {
  std::vector<double> weights(schedule.placed.size());
  std::vector<int> n_packs(static_cast<std::size_t>(schedule.n_gpus));  // of each GPU
  for (const Iteration& iteration : schedule.iterations) {
    const std::span<const PlacedPack> packs = schedule.packs(iteration);
    const auto gpus_of = [&](const PlacedPack& placed) {
      const auto degree = static_cast<std::size_t>(schedule.groups[placed.group].gpus_per_pack);
      return std::span(n_packs).subspan(placed.first_gpu, degree);
    };
    n_packs.assign(n_packs.size(), 0);
    LossPlace place;
    for (const PlacedPack& placed : packs) {
      place.iteration += losses[placed.group][placed.pack];
      for (int& n : gpus_of(placed)) ++n;
    }
    for (std::size_t i = 0; i < packs.size(); ++i) {
      place.pack = losses[packs[i].group][packs[i].pack];
      if (place.pack.loss_tokens == 0) continue;
      place.gpu_share = 0;
      for (const int n : gpus_of(packs[i])) place.gpu_share += 1.0 / n;
      place.gpu_share /= schedule.n_gpus;
      weights[iteration.first_placed + i] = normaliser.pack_weight(place);
    }
  }
  return weights;
}

}  // namespace packsim
