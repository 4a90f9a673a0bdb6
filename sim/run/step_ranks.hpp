#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/step/step_price.hpp"
#include "packing/schedule.hpp"
#include "sim/network/topology.hpp"
#include "sim/run/alike_ranks.hpp"
#include "sim/run/iteration_mesh.hpp"
#include "sim/run/rank_slow_down.hpp"
#include "sim/step/rank_work.hpp"
#include "sim/step/step_detail.hpp"
#include "sim/variability/variability.hpp"

namespace packsim {

/// How the packs of one group run, and what each costs.
struct PricedGroup {
  PricedPlan plan;
  std::vector<MicroBatchPrice> packs;  ///< [n_packs]
};

struct SimulationOptions {
  StepDetail detail = StepDetail::micro_batches;
  /// Null: nothing contends for links.
  const Topology* topology = nullptr;
  /// How much longer computation takes while its GPU communicates, at least 1.
  double slow_down = 1;
  /// Where nothing contends, ranks whose micro-batches cost the same are simulated once, which changes
  /// nothing but n_events.
  bool merges_alike = true;
  /// Where any GPU or kernel is not the mean one, all ranks are simulated.
  Variability variability = {};
};

/// The ranks of a schedule's iterations, each with its micro-batches; where nothing contends and all GPUs are
/// the mean one, one rank of each kind. GPUs that train the same packs in an iteration are a rank; those that
/// share only some of them are several, which meet before each of these. Keeps its memory from iteration to
/// iteration.
class StepRanks {
 public:
  /// All but the options are kept by reference. Throws std::invalid_argument for a schedule that is not of
  /// the groups, and for mistakes in the variability of the plans' GPUs.
  StepRanks(const Schedule& schedule, std::span<const PricedGroup> groups, const SimulationOptions& options);

  /// Of one iteration of the schedule; good until the next call. Where all GPUs exchange states in every
  /// micro-batch, those without a pack in a round take part with an empty one, if they have packs later.
  /// Throws std::invalid_argument where ranks that share experts checkpoint other layers in a round, as they
  /// would wait for each other for ever.
  std::span<const RankWork> of(std::size_t iteration_index);
  /// GPUs that a lane, one pipeline stage of the rank, stands for.
  double gpus_of_lane(std::size_t rank) const { return gpus_[rank]; }

 private:
  void set_work(const Iteration& iteration, std::size_t block, RankWork& work) const;
  void check_checkpointing(std::size_t iteration_index) const;
  void set_rounds(const Iteration& iteration, std::size_t block);
  void set_meetings(const Iteration& iteration, RankWork& work) const;
  void set_kinds(const Iteration& iteration);
  void name_meetings(const Iteration& iteration);

  const Schedule& schedule_;
  std::span<const PricedGroup> groups_;
  bool merges_;
  std::optional<RankSlowDown> slow_down_;            // where GPUs or kernels differ
  std::vector<std::vector<std::uint32_t>> classes_;  // [n_groups][n_packs], numbers for each group
  IterationMesh mesh_;
  std::vector<std::uint32_t> barrier_rounds_;  // of the iteration: those behind a barrier, ascending
  std::vector<std::uint32_t> shared_ids_;      // [n packs of the iteration] meetings of the shared ones
  std::vector<std::uint32_t> rounds_;          // of the block at hand: positions, or none
  RankKinds kinds_;
  AlikeRanks alike_;
  std::vector<RankWork> works_;  // and more of earlier iterations
  std::vector<double> gpus_;     // [n_works]
};

}  // namespace packsim
