#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "models/step/step_price.hpp"
#include "packing/schedule/schedule.hpp"
#include "sim/network/topology.hpp"
#include "sim/run/alike_ranks.hpp"
#include "sim/run/iteration_mesh.hpp"
#include "sim/run/pack_prices.hpp"
#include "sim/run/rank_slow_down.hpp"
#include "sim/step/rank_work.hpp"
#include "sim/step/step_detail.hpp"
#include "sim/variability/variability.hpp"

namespace packsim {

/// The plan of one group, and the price of each of its packs.
struct PricedGroup {
  PricedPlan plan;
  PackPrices packs;
};

struct SimulationOptions {
  StepDetail detail = StepDetail::micro_batches;
  /// Null: transfers do not share links, and each takes its time alone.
  const Topology* topology = nullptr;
  /// How many times as long computation takes while its GPU communicates; at least 1.
  double slow_down = 1;
  /// Whether ranks whose micro-batches cost the same are simulated only once, if no transfers share links.
  /// This changes only n_events.
  bool merges_alike = true;
  /// simulate() ends after the iteration with which all of them take longer than this.
  double most_total_s = std::numeric_limits<double>::infinity();
  /// simulate() with StepDetail::stages, and trace_step(), throw StepTooLarge for a step that takes more
  /// memory (estimated_step_bytes()).
  double most_step_bytes = std::numeric_limits<double>::infinity();
  /// False: a what-if in which no rank waits for another. Each does its own packs and then its own exchange
  /// of gradients and weights, and a step takes what GPUs take on average. Only at step level, and not for
  /// pipelines, whose stages have to wait for each other.
  bool ranks_wait = true;
  /// Different speeds of GPUs and kernels. If there are any, all ranks are simulated.
  Variability variability = {};
};

/// The data-parallel ranks of each iteration of a schedule, and their micro-batches. If no transfers share
/// links and all GPUs are equally fast, one rank is simulated for all that do the same.
///
/// GPUs that train the same packs in an iteration form one rank. GPUs that have only some of their packs in
/// common form several ranks, which wait for each other before each shared pack. Keeps its memory from
/// iteration to iteration.
class IterationRanks {
 public:
  /// The schedule and the groups are kept by reference. Throws std::invalid_argument if the schedule does not
  /// match the groups, for mistakes in the variability, and where ranks have to wait.
  IterationRanks(const Schedule& schedule, std::span<const PricedGroup> groups,
                 const SimulationOptions& options);

  /// The ranks of one iteration, which are valid until the next call. If all GPUs exchange weights or
  /// gradients in every micro-batch, a rank that has no pack in a round but has one later takes part with an
  /// empty pack.
  ///
  /// Throws std::invalid_argument if ranks that share experts checkpoint different layers in the same round:
  /// they would wait for each other forever.
  std::span<const RankWork> of(std::size_t iteration_index);
  /// The micro-batches of a rank of the latest iteration as positions among its packs; kNoPack stands for the
  /// empty pack of a rank that takes part without one. Only where no ranks are merged. Valid until the next
  /// call.
  std::span<const std::uint32_t> packs_of(std::size_t rank);
  static constexpr std::uint32_t kNoPack = std::numeric_limits<std::uint32_t>::max();
  /// Number of GPUs for which a lane of this rank (one of its pipeline stages) is simulated.
  double gpus_of_lane(std::size_t rank) const { return gpus_[rank]; }

 private:
  void set_work(const Iteration& iteration, std::size_t block, RankWork& work);
  RankMicroBatch micro_batch(const PlacedPack& placed);
  int stage_gpus(std::uint32_t group, int n) const;
  std::size_t ranks_that_meet(std::uint32_t group) const;
  void check_checkpointing(std::size_t iteration_index) const;
  void set_rounds(const Iteration& iteration, std::size_t block);
  void set_sync_points(const Iteration& iteration, RankWork& work) const;
  void set_kinds(const Iteration& iteration);
  void name_sync_points(const Iteration& iteration);

  const Schedule& schedule_;
  std::span<const PricedGroup> groups_;
  bool merges_;
  bool ranks_wait_;
  bool shares_experts_ = false;                      // whether ranks of any group do
  std::optional<RankSlowDown> slow_down_;            // set if GPUs or kernels differ
  std::vector<std::vector<std::uint32_t>> classes_;  // [n_groups][n_prices], numbers for each group
  // What passes take, filled in when a price is first trained: [n_groups][n_prices], or empty for groups
  // whose steps are made of smaller pieces.
  std::vector<std::vector<MicroBatchTimes>> pass_times_;
  IterationMesh mesh_;
  std::vector<std::uint32_t> barrier_rounds_;  // rounds that start with a barrier, ascending
  std::vector<std::uint32_t> shared_ids_;      // [n packs of the iteration]: sync points of shared packs
  std::vector<std::uint32_t> rounds_;          // of the current block: its packs' positions, or kNoPack
  RankKinds kinds_;
  AlikeRanks alike_;
  std::vector<RankWork> works_;  // Those of this iteration come first; others are left from earlier ones.
  std::vector<double> gpus_;     // [n_works]
  const Iteration* latest_ = nullptr;
};

}  // namespace packsim
