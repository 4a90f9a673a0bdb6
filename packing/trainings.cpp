#include "packing/trainings.hpp"

#include <algorithm>

namespace packsim {

Trainings count_trainings(std::span<const std::vector<MicroBatch>> batches, const Schedule& schedule) {
  Trainings trainings;
  for (const std::vector<MicroBatch>& group : batches) trainings.of_pack.emplace_back(group.size());
  trainings.iterations.resize(batches.size());
  trainings.later_micro_batches.resize(batches.size());
  for (const Iteration& iteration : schedule.iterations) {
    ++trainings.iterations[iteration.group];
    const std::int64_t n_packs = iteration.n_packs;
    const std::int64_t n_ranks = schedule.groups[iteration.group].n_dp_ranks;
    trainings.later_micro_batches[iteration.group] += std::max<std::int64_t>(0, n_packs - n_ranks);
    for (const std::uint32_t pack : schedule.packs(iteration)) ++trainings.of_pack[iteration.group][pack];
  }
  return trainings;
}

}  // namespace packsim
