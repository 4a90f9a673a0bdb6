#include "packing/loss/loss_weights.hpp"

#include "packing/loss/loss_places.hpp"

namespace packsim {

std::vector<double> loss_weights(const Schedule& schedule, std::span<const std::vector<LossCounts>> losses,
                                 const Normaliser& normaliser) {
  std::vector<double> weights(schedule.placed.size());
  LossPlaces places(schedule, losses);
  for (const Iteration& iteration : schedule.iterations) {
    double* weight = &weights[iteration.first_placed];
    for (const LossPlace& place : places.of(iteration)) {
      if (place.pack.loss_tokens > 0) *weight = normaliser.pack_weight(place);
      ++weight;
    }
  }
  return weights;
}

}  // namespace packsim
