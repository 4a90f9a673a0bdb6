#pragma once

#include <cstdint>
#include <span>

#include "packing/schedule/schedule.hpp"

namespace packsim {

// One more iteration: packs of one group, round and round its ranks.
inline void add_iteration(Schedule& schedule, std::uint32_t group, std::span<const std::uint32_t> packs) {
  const GroupPlan& plan = schedule.groups[group];
  const auto n_ranks = static_cast<std::uint32_t>(plan.n_dp_ranks);
  schedule.iterations.push_back({.first_placed = static_cast<std::uint32_t>(schedule.placed.size()),
                                 .n_placed = static_cast<std::uint32_t>(packs.size())});
  for (std::uint32_t i = 0; i < packs.size(); ++i) {
    schedule.placed.push_back({.pack = packs[i],
                               .first_gpu = i % n_ranks * static_cast<std::uint32_t>(plan.gpus_per_pack),
                               .group = static_cast<std::uint16_t>(group),
                               .round = static_cast<std::uint16_t>(i / n_ranks)});
  }
}

}  // namespace packsim
