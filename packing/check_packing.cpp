#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "packing/pack.hpp"

namespace packsim {
namespace {

[[noreturn]] void broken(const Packing& packing, const std::string& what) {
  throw std::logic_error("strategy " + std::string(packing.strategy->name) + ": " + what);
}

// Every pack is placed once, and no GPU trains two packs in one round.
void check_placed(const Packing& packing, const BatchSetting& setting) {
  const PlannedIterations& planned = packing.planned;
  std::vector<std::vector<bool>> is_placed;
  for (const PackSet& packs : packing.groups) is_placed.emplace_back(packs.n_packs(), false);
  const auto n_gpus = static_cast<std::size_t>(setting.n_gpus);
  std::vector<int> latest_round;  // [n_gpus]
  std::size_t n_placed = 0;
  for (std::size_t i = 0; i < planned.iterations.size(); ++i) {
    const Iteration& iteration = planned.iterations[i];
    const std::string where = "iteration " + std::to_string(i) + " ";
    if (iteration.first_placed != n_placed || n_placed + iteration.n_placed > planned.placed.size())
      broken(packing, where + "does not begin where the one before ends");
    if (iteration.n_placed == 0) broken(packing, where + "has no packs");
    latest_round.assign(n_gpus, -1);
    int round = 0;
    for (; n_placed < iteration.first_placed + std::size_t{iteration.n_placed}; ++n_placed) {
      const PlacedPack& placed = planned.placed[n_placed];
      if (placed.group >= is_placed.size() || placed.pack >= is_placed[placed.group].size())
        broken(packing, where + "trains a pack that is not there");
      if (is_placed[placed.group][placed.pack])
        broken(packing, where + "trains a pack that was trained before, expected once");
      is_placed[placed.group][placed.pack] = true;
      const auto degree = static_cast<std::size_t>(setting.groups[placed.group].gpus_per_pack);
      if (placed.first_gpu % degree != 0 || placed.first_gpu + degree > n_gpus)
        broken(packing, where + "places a pack on GPUs from " + std::to_string(placed.first_gpu) + " on");
      if (placed.round < round) broken(packing, where + "has rounds out of order");
      round = placed.round;
      for (std::size_t gpu = placed.first_gpu; gpu < placed.first_gpu + degree; ++gpu) {
        if (std::exchange(latest_round[gpu], round) == round)
          broken(packing, where + "gives GPU " + std::to_string(gpu) + " two packs in a round");
      }
    }
  }
  if (n_placed != planned.placed.size() || n_placed != packing.n_packs())
    broken(packing, "only " + std::to_string(n_placed) + " packs are in iterations");
}

}  // namespace

void check_packing(const Packing& packing, const PackRequest& request) {
  const auto lengths = packing.lengths_tokens;
  const std::int64_t longest = request.longest_sample_tokens();
  std::vector<bool> packed(lengths.size(), false);
  std::size_t n_packed = 0;
  for (std::size_t group = 0; group < packing.groups.size(); ++group) {
    const PackSet& packs = packing.groups[group];
    const std::int64_t capacity = packing.capacities_tokens[group];
    for (std::size_t p = 0; p < packs.n_packs(); ++p) {
      std::int64_t tokens = 0;
      std::int32_t longest_row = 0;
      std::int64_t extra = 0;
      for (const ItemIndex item : packs[p]) {
        if (item >= lengths.size())
          broken(packing, "pack " + std::to_string(p) + " holds an item that is not there");
        if (packed[item]) broken(packing, "item " + std::to_string(item) + " is in two packs, expected one");
        packed[item] = true;
        tokens += lengths[item];
        if (!request.extra_sizes.empty()) extra += request.extra_sizes[item];
        longest_row = std::max(longest_row, lengths[item]);
        if (lengths[item] == 0 && request.empty != Empty::keep) {
          broken(packing, "item " + std::to_string(item) + " has no tokens, expected it left out");
        }
      }
      n_packed += packs[p].size();
      if (extra > request.extra_capacity) {
        broken(packing, "pack " + std::to_string(p) + " has extra sizes of " + std::to_string(extra) +
                            ", expected at most " + std::to_string(request.extra_capacity));
      }
      if (packs[p].empty()) broken(packing, "pack " + std::to_string(p) + " is empty");
      const bool own_pack =
          request.over_long == OverLong::own_pack && packs[p].size() == 1 && tokens > longest;
      const std::int64_t row_tokens = packing.strategy->layout == Layout::rows ? longest_row : tokens;
      if (row_tokens > capacity && !own_pack) {
        broken(packing, "pack " + std::to_string(p) + " has " + std::to_string(row_tokens) +
                            " tokens in a row, expected at most " + std::to_string(capacity));
      }
    }
  }
  if (packing.strategy->forms_iterations()) check_placed(packing, *request.setting);
  if (n_packed == lengths.size()) return;
  for (std::size_t item = 0; item < lengths.size(); ++item) {
    const bool may_skip = (lengths[item] == 0 && request.empty != Empty::keep) ||
                          (lengths[item] > longest && request.over_long == OverLong::drop);
    if (!packed[item] && !may_skip)
      broken(packing, "item " + std::to_string(item) + " is in no pack, expected one");
  }
}

}  // namespace packsim
