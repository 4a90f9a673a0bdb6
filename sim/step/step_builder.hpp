#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/step/pass/pass_time.hpp"
#include "sim/engine/op_graph.hpp"
#include "sim/network/group_links.hpp"
#include "sim/network/topology.hpp"
#include "sim/step/expert_sync.hpp"
#include "sim/step/lane.hpp"
#include "sim/step/rank_program_builder.hpp"
#include "sim/step/rank_work.hpp"
#include "sim/step/state_exchange.hpp"
#include "sim/step/step_detail.hpp"
#include "sim/step/sync_points.hpp"

namespace packsim {

/// Makes the operations of one optimizer step. Keeps its memory from step to step.
///
/// - ZeRO 0 and 1 reduce gradients once a step, bucket by bucket, as the last micro-batch's backward pass
///   fills the buckets.
/// - ZeRO 1 and 2 gather changed weights after the optimizer, before the step ends. With
///   plan.execution.overlaps_gather the next step gathers them during its first forward pass instead.
/// - ZeRO 2 reduces gradients in every micro-batch. Buckets are double-buffered: a bucket is filled again
///   once the reduction two buckets earlier is done.
/// - ZeRO 3 gathers weights one unit ahead of the computation, in the forward and again in the backward
///   pass. The gradients of a unit are reduced after its backward pass and after the gather that is then
///   running.
/// - In a pipeline, ZeRO 2 and 3 reduce gradients once a step as ZeRO 1 does, and ZeRO 3 gathers all weights
///   during the first forward pass of a step and keeps them.
/// Without plan.execution.overlaps_states, computation waits for each of these transfers.
///
/// The gradients of a rank's second and later micro-batches are added to its earlier ones, unit by unit.
///
/// Ranks whose GPUs hold the experts together wait for each other in every exchange with experts. No rank
/// waits for one that has no micro-batches left.
///
/// Ranks with plans of different sequence degrees may run side by side if all of them shard weights and
/// gradients in the same way; the weights and gradients of the first rank's plan are used for all.
class StepBuilder {
 public:
  /// topology: null if transfers do not share links. slow_down: factor on computation while its GPU
  /// communicates. Without either, exchanges of experts and the computation between them may become one
  /// collective.
  StepBuilder(StepDetail detail, const Topology* topology, double slow_down = 1);

  /// Makes the graph of a step. Throws std::invalid_argument for a pipeline that its schedule does not allow,
  /// for ranks or micro-batches with different pipelines, and for sync points of ranks with a pipeline or
  /// shared experts.
  void build(std::span<const RankWork> ranks, OpGraph& graph);

  /// Time by cause that each simulated GPU of the latest graph computes, or waits for exchanges inside its
  /// rank if no other transfer shares their links: [n_ranks x pp_degree], the stages of one rank side by
  /// side.
  std::span<const WorkTime> work() const { return work_; }
  /// [n_ranks x pp_degree]: what each simulated GPU of the latest graph does inside collectives that stand
  /// for several exchanges of experts and the computation between them.
  std::span<const InsideTime> inside() const { return inside_; }
  /// Passes of the latest graph; those of one lane are in the order in which it runs them.
  std::span<const MadePass> passes() const { return passes_; }

 private:
  StepDetail detail_;
  bool merges_experts_;
  std::optional<GroupLinks> links_;
  RankProgramBuilder program_builder_;
  // [n_ranks x pp_degree] of this step, then unused ones from earlier steps.
  std::vector<Lane> lanes_;
  std::vector<StateExchange> states_;  // [n_chunks] of this step, then unused ones from earlier steps
  ExpertSync experts_;
  SyncPoints sync_points_;
  std::vector<WorkTime> work_;
  std::vector<InsideTime> inside_;
  std::vector<MadePass> passes_;
};

}  // namespace packsim
