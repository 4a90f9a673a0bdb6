#include "sim/run/iteration_mesh.hpp"

namespace packsim {

// Cuts the GPUs into blocks, between neighbours that do not train the same packs.
void IterationMesh::cut(const Schedule& schedule, const Iteration& iteration) {
  const auto n_gpus = static_cast<std::size_t>(schedule.n_gpus);
  cuts_.assign(n_gpus + 1, false);
  cuts_[0] = cuts_[n_gpus] = true;
  // Where all packs have the same number of GPUs, ranks without packs stay ranks.
  if (const std::optional<int> gpus_per_pack = schedule.gpus_per_pack(iteration)) {
    for (std::size_t gpu = 0; gpu < n_gpus; gpu += static_cast<std::size_t>(*gpus_per_pack))
      cuts_[gpu] = true;
  }
  for (const PlacedPack& placed : schedule.packs(iteration)) {
    cuts_[placed.first_gpu] = true;
    cuts_[placed.first_gpu + static_cast<std::size_t>(schedule.groups[placed.group].gpus_per_pack)] = true;
  }
  blocks_.clear();
  block_of_.resize(n_gpus);
  for (std::size_t gpu = 0; gpu < n_gpus; ++gpu) {
    if (cuts_[gpu]) blocks_.push_back({.first_gpu = static_cast<int>(gpu), .n_gpus = 0});
    ++blocks_.back().n_gpus;
    block_of_[gpu] = static_cast<std::uint32_t>(blocks_.size() - 1);
  }
}

void IterationMesh::set(const Schedule& schedule, const Iteration& iteration) {
  cut(schedule, iteration);
  const std::span<const PlacedPack> packs = schedule.packs(iteration);
  const auto last_block = [&](const PlacedPack& placed) {
    const auto degree = static_cast<std::uint32_t>(schedule.groups[placed.group].gpus_per_pack);
    return block_of_[placed.first_gpu + degree - 1];
  };
  offsets_.assign(blocks_.size() + 1, 0);
  n_blocks_.clear();
  has_shared_ = false;
  for (const PlacedPack& placed : packs) {
    const std::uint32_t first = block_of_[placed.first_gpu];
    const std::uint32_t last = last_block(placed);
    for (std::uint32_t block = first; block <= last; ++block) ++offsets_[block + 1];
    n_blocks_.push_back(last - first + 1);
    has_shared_ = has_shared_ || last > first;
  }
  for (std::size_t block = 0; block < blocks_.size(); ++block) offsets_[block + 1] += offsets_[block];
  packs_.resize(offsets_.back());
  std::vector<std::uint32_t>& next = offsets_;  // each moves on to the next block's offset; put right below
  for (std::uint32_t position = 0; position < packs.size(); ++position) {
    const std::uint32_t first = block_of_[packs[position].first_gpu];
    for (std::uint32_t block = first; block <= last_block(packs[position]); ++block)
      packs_[next[block]++] = position;
  }
  for (std::size_t block = blocks_.size(); block > 0; --block) offsets_[block] = offsets_[block - 1];
  offsets_[0] = 0;
}

}  // namespace packsim
