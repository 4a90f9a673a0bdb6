#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "packing/batch_problem.hpp"

namespace packsim {

/// Rounds of one iteration that a plan can count.
inline constexpr std::int64_t kMostRounds = 65536;

/// Collects where a strategy puts its packs, iteration after iteration.
class BatchPlanBuilder {
 public:
  explicit BatchPlanBuilder(const BatchSetting& setting);

  /// A pack of the open iteration; no items, no pack. Rounds may come in any order, and need not be full.
  /// Throws std::invalid_argument for more rounds than a plan can count.
  void place(std::span<const ItemIndex> items, std::size_t group, std::size_t first_gpu, std::size_t round,
             bool after_barrier = false);

  /// Ends the open iteration; without packs there was none.
  void end_iteration();

  BatchPlan finish() &&;

 private:
  BatchPlan plan_;
  std::size_t first_placed_ = 0;
};

/// DP ranks of a strategy that runs every pack on the GPUs of one group; rank r starts at GPU r *
/// gpus_per_pack. Throws std::invalid_argument, naming the strategy, for more than one group and for GPUs
/// that do not make whole ranks.
std::size_t uniform_dp_ranks(const BatchSetting& setting, std::string_view strategy);

/// Puts the packs of each rank on its GPUs, one after another. packs_of_ranks: [n_dp_ranks][n_rounds of the
/// rank]; those without items take a round, in which the rank is idle.
void place_on_ranks(BatchPlanBuilder& plan, const BatchSetting& setting,
                    std::span<const std::vector<std::vector<ItemIndex>>> packs_of_ranks);

/// Puts packs that are alike on the ranks of one group in turn: pack i on rank i % n_dp_ranks, in round
/// i / n_dp_ranks.
void place_in_turn(BatchPlanBuilder& plan, const BatchSetting& setting, std::size_t n_dp_ranks,
                   std::span<const std::vector<ItemIndex>> packs);

}  // namespace packsim
