#include "packing/algorithms/batch_plan_builder.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace packsim {

BatchPlanBuilder::BatchPlanBuilder(const BatchSetting& setting) {
  plan_.groups.resize(setting.groups.size());
}

void BatchPlanBuilder::place(std::span<const ItemIndex> items, std::size_t group, std::size_t first_gpu,
                             std::size_t round, bool after_barrier) {
  if (items.empty()) return;
  if (round >= kMostRounds) {
    throw std::invalid_argument("tokens_per_iteration: expected iterations of at most " +
                                std::to_string(kMostRounds) + " rounds, got more");
  }
  PackSet& packs = plan_.groups[group];
  packs.items.insert(packs.items.end(), items.begin(), items.end());
  packs.close_pack();
  plan_.placed.push_back({.pack = static_cast<std::uint32_t>(packs.n_packs() - 1),
                          .first_gpu = static_cast<std::uint32_t>(first_gpu),
                          .group = static_cast<std::uint16_t>(group),
                          .round = static_cast<std::uint16_t>(round),
                          .after_barrier = after_barrier});
}

void BatchPlanBuilder::end_iteration() {
  const std::size_t n_placed = plan_.placed.size() - first_placed_;
  if (n_placed == 0) return;
  std::ranges::stable_sort(std::span(plan_.placed).subspan(first_placed_), {}, &PlacedPack::round);
  plan_.iterations.push_back(
      {static_cast<std::uint32_t>(first_placed_), static_cast<std::uint32_t>(n_placed)});
  first_placed_ = plan_.placed.size();
}

BatchPlan BatchPlanBuilder::finish() && {
  end_iteration();
  return std::move(plan_);
}

std::size_t uniform_dp_ranks(const BatchSetting& setting, std::string_view strategy) {
  const std::string name(strategy);
  if (setting.groups.size() != 1) {
    throw std::invalid_argument("groups: expected one for " + name + ", got " +
                                std::to_string(setting.groups.size()));
  }
  const int gpus_per_pack = setting.groups[0].gpus_per_pack;
  if (gpus_per_pack < 1 || setting.n_gpus < gpus_per_pack || setting.n_gpus % gpus_per_pack != 0) {
    throw std::invalid_argument("n_gpus: expected a multiple of the SP degree " +
                                std::to_string(gpus_per_pack) + " for " + name + ", got " +
                                std::to_string(setting.n_gpus));
  }
  return static_cast<std::size_t>(setting.n_gpus / gpus_per_pack);
}

void place_on_ranks(BatchPlanBuilder& plan, const BatchSetting& setting,
                    std::span<const std::vector<std::vector<ItemIndex>>> packs_of_ranks) {
  const auto gpus_per_pack = static_cast<std::size_t>(setting.groups[0].gpus_per_pack);
  for (std::size_t rank = 0; rank < packs_of_ranks.size(); ++rank) {
    for (std::size_t round = 0; round < packs_of_ranks[rank].size(); ++round)
      plan.place(packs_of_ranks[rank][round], 0, rank * gpus_per_pack, round);
  }
}

void place_in_turn(BatchPlanBuilder& plan, const BatchSetting& setting, std::size_t n_dp_ranks,
                   std::span<const std::vector<ItemIndex>> packs) {
  const auto gpus_per_pack = static_cast<std::size_t>(setting.groups[0].gpus_per_pack);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    plan.place(packs[i], 0, i % n_dp_ranks * gpus_per_pack, i / n_dp_ranks);
  }
}

}  // namespace packsim
