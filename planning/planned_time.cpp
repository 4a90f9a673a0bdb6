#include "planning/planned_time.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace packsim {

double planned_time_s(const Packing& packing, const BatchSetting& setting) {
  double total_s = 0;
  std::vector<double> free_s;
  std::vector<std::int32_t> lengths;
  for (const Iteration& iteration : packing.planned.iterations) {
    free_s.assign(static_cast<std::size_t>(setting.n_gpus), 0);
    double end_s = 0;
    double barrier_s = 0;
    int round = 0;
    int n_rounds = 1;
    for (const PlacedPack& placed :
         std::span(packing.planned.placed).subspan(iteration.first_placed, iteration.n_placed)) {
      if (placed.round != round && (setting.rounds_in_step || placed.after_barrier)) barrier_s = end_s;
      round = placed.round;
      n_rounds = std::max(n_rounds, round + 1);
      lengths.clear();
      for (const ItemIndex item : packing.groups[placed.group][placed.pack])
        lengths.push_back(packing.lengths_tokens[item]);
      const BatchGroup& group = setting.groups[placed.group];
      const auto gpus =
          std::span(free_s).subspan(placed.first_gpu, static_cast<std::size_t>(group.gpus_per_pack));
      const double start_s = std::max(barrier_s, *std::ranges::max_element(gpus));
      const double pack_end_s = start_s + pack_time_s(group.cost, lengths);
      std::ranges::fill(gpus, pack_end_s);
      end_s = std::max(end_s, pack_end_s);
    }
    total_s += end_s * (1 + setting.rounds.fill_rounds / n_rounds);
  }
  return total_s;
}

}  // namespace packsim
