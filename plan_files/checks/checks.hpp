#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/loss/loss_tokens.hpp"
#include "packing/strategy.hpp"
#include "plan_files/mistakes.hpp"
#include "plan_files/plan_tables.hpp"

namespace packsim {

// The parts of broken_promises(). Each adds what is wrong to a list; all take tables without
// table_mistakes().

/// What a pack holds.
struct PackLoad {
  std::int64_t tokens = 0;
  LossCounts losses;
};

/// What the packs hold together.
struct PackedItems {
  std::vector<PackLoad> packs;  ///< [n_packs], as in pack_offsets
  std::vector<bool> is_packed;  ///< [n_items]
  std::int64_t n_packed = 0;
  std::int64_t own_pack_samples = 0;  ///< items that are longer than every pack length
};

/// Every item is in at most one pack, and no pack is longer than its group says.
PackedItems check_packs(const PlanTables& tables, const Strategy& strategy, Mistakes& mistakes);

/// Pieces tile their samples, and the counts of samples and tokens and the hash of the lengths are true.
void check_samples(const PlanTables& tables, const Strategy& strategy, const PackedItems& packed,
                   Mistakes& mistakes);

/// Every epoch trains every pack once, but for those that the last iterations drop or repeat; packs are dealt
/// to the GPUs as make_schedule() does, and the counts of dropped and repeated packs are true.
void check_epochs(const PlanTables& tables, const Strategy& strategy, std::span<const PackLoad> packs,
                  Mistakes& mistakes);

/// Packs and iterations are in the order that the facts name. Takes tables without mistakes of the above.
void check_order(const PlanTables& tables, const Strategy& strategy, Mistakes& mistakes);

/// The weights are those of the normaliser, within rounding.
void check_weights(const PlanTables& tables, std::span<const PackLoad> packs, Mistakes& mistakes);

}  // namespace packsim
