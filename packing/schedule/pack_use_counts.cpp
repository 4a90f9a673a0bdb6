#include "packing/schedule/pack_use_counts.hpp"

#include <utility>

namespace packsim {

PackUseCounts count_pack_uses(std::span<const std::vector<MicroBatch>> batches, const Schedule& schedule) {
  PackUseCounts counts;
  for (const std::vector<MicroBatch>& group : batches) counts.of_pack.emplace_back(group.size());
  counts.iterations.resize(batches.size());
  counts.rank_steps.resize(batches.size());
  counts.later_micro_batches.resize(batches.size());
  std::vector<std::int64_t> trained_in(static_cast<std::size_t>(schedule.n_gpus), -1);  // iteration, by GPU
  std::vector<std::int64_t> latest(batches.size(), -1);                                 // iteration, by group
  std::int64_t index = 0;
  for (const Iteration& iteration : schedule.iterations) {
    const std::span<const PlacedPack> packs = schedule.packs(iteration);
    if (!packs.empty()) {
      const std::size_t first = packs.front().group;
      counts.rank_steps[first] += static_cast<double>(schedule.n_gpus) / schedule.groups[first].gpus_per_pack;
    }
    for (const PlacedPack& placed : packs) {
      schedule.load_ahead<std::uint32_t>(placed, counts.of_pack);
      ++counts.of_pack[placed.group][placed.pack];
      if (std::exchange(latest[placed.group], index) != index) ++counts.iterations[placed.group];
      const int degree = schedule.groups[placed.group].gpus_per_pack;
      const auto n_gpus = static_cast<std::size_t>(degree);
      int n_later = 0;
      for (std::int64_t& trained : std::span(trained_in).subspan(placed.first_gpu, n_gpus)) {
        n_later += trained == index ? 1 : 0;
        trained = index;
      }
      counts.later_micro_batches[placed.group] += static_cast<double>(n_later) / degree;
    }
    ++index;
  }
  return counts;
}

}  // namespace packsim
