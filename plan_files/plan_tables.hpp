#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan_files/plan_facts.hpp"
#include "plan_files/plan_layout.hpp"

namespace packsim {

/// The content of a plan, wherever its bytes lie.
struct PlanTables {
  PlanFacts facts;
  std::span<const PlanGroup> groups;
  std::span<const PlanIteration> iterations;  ///< of all epochs
  std::span<const PlanPlacedPack> placed;
  std::span<const double> weights;               ///< [n_placed]
  std::span<const std::uint64_t> pack_offsets;   ///< [n_packs + 1] of pack_items, group after group
  std::span<const std::uint32_t> pack_items;     ///< [n_packed_items]
  std::span<const std::int32_t> lengths_tokens;  ///< [n_items]
  /// [n_items] the sample that an item is a piece of; empty where no sample is cut: item i is sample i.
  std::span<const std::uint32_t> piece_samples;
  std::span<const std::int32_t> piece_starts;  ///< [n_items], or empty
  std::span<const std::int32_t> loss_tokens;   ///< [n_items]; empty: all tokens but the first of an item

  std::int64_t iterations_per_epoch() const {
    return static_cast<std::int64_t>(iterations.size()) / facts.epochs;
  }
  std::span<const PlanPlacedPack> packs(const PlanIteration& iteration) const {
    return placed.subspan(iteration.first_placed, iteration.n_placed);
  }
  /// The index of a placed pack in pack_offsets.
  std::uint64_t pack_index(const PlanPlacedPack& pack) const {
    return groups[pack.group].first_pack + pack.pack;
  }
  std::span<const std::uint32_t> items(const PlanPlacedPack& pack) const {
    const std::uint64_t index = pack_index(pack);
    return pack_items.subspan(pack_offsets[index], pack_offsets[index + 1] - pack_offsets[index]);
  }
};

/// Everything that a reader must know before it reads: indices that point nowhere, packs on GPUs that are not
/// there or have another one in that round, sizes that do not fit each other, numbers beyond a limit.
/// [n_mistakes], the first of each kind.
std::vector<std::string> table_mistakes(const PlanTables& tables);

/// Everything else that docs/plan_files.md promises and that the tables can be held to: that every sample is
/// in one pack or counted, every pack fits and is trained once an epoch or counted, and that facts and
/// weights are true. Takes tables without table_mistakes(), and longer than that. [n_mistakes], the first of
/// each kind.
std::vector<std::string> broken_promises(const PlanTables& tables);

}  // namespace packsim
