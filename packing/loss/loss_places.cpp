#include "packing/loss/loss_places.hpp"

#include <algorithm>

namespace packsim {

LossPlaces::LossPlaces(const Schedule& schedule, std::span<const std::vector<LossCounts>> losses)
    : schedule_(schedule), losses_(losses), n_packs_(static_cast<std::size_t>(schedule.n_gpus)) {}

std::span<const LossPlace> LossPlaces::of(const Iteration& iteration) {
  const std::span<const PlacedPack> packs = schedule_.packs(iteration);
  const auto gpus_of = [&](const PlacedPack& placed) {
    const auto degree = static_cast<std::size_t>(schedule_.groups[placed.group].gpus_per_pack);
    return std::span(n_packs_).subspan(placed.first_gpu, degree);
  };
  std::ranges::fill(n_packs_, 0);
  places_.resize(packs.size());
  LossCounts all;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    schedule_.load_ahead(packs[i], losses_);
    places_[i].pack = losses_[packs[i].group][packs[i].pack];
    all += places_[i].pack;
    for (std::uint32_t& n : gpus_of(packs[i])) ++n;
  }
  while (one_over_.size() <= packs.size()) one_over_.push_back(1.0 / static_cast<double>(one_over_.size()));
  for (std::size_t i = 0; i < packs.size(); ++i) {
    LossPlace& place = places_[i];
    place.iteration = all;
    place.gpu_share = 0;
    if (place.pack.loss_tokens == 0) continue;
    for (const std::uint32_t n : gpus_of(packs[i])) place.gpu_share += one_over_[n];
    place.gpu_share /= schedule_.n_gpus;
  }
  return places_;
}

}  // namespace packsim
