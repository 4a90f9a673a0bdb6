#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/step/micro_batch_time.hpp"
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
/// fills them.
/// - ZeRO 1 and 2 gather changed weights after the optimizer, before the step ends.
/// - ZeRO 2 reduces gradients in every micro-batch. Double-buffered: a bucket is filled again once the
/// reduction two
///   buckets earlier is done.
/// - ZeRO 3 gathers weights one unit ahead of the computation, in the forward pass and again in the backward
/// pass, and
///   reduces the gradients of a unit after its backward pass and after the gather that is under way.
/// Without plan.execution.overlaps_states computation waits for each of these.
///
/// The gradients of a rank's second and later micro-batches are added to those it has, unit by unit.
///
/// Ranks whose GPUs hold the experts together wait for each other in every exchange with experts. Nobody
/// waits for a rank that has run out of micro-batches.
///
/// Ranks with plans of different sequence degrees may run side by side if all of them shard weights and
/// gradients in the same way: those of the first rank count for all.
class StepBuilder {
 public:
  /// topology: null where transfers do not share links.
  StepBuilder(StepDetail detail, const Topology* topology);

  /// Throws std::invalid_argument for a pipeline that its schedule does not allow, for ranks or micro-batches
  /// of different pipelines, and for sync points of ranks that are pipelines or share experts.
  void build(std::span<const RankWork> ranks, OpGraph& graph);

  /// [n_ranks x pp_degree] of the latest graph, stages of one rank side by side: what each simulated GPU
  /// computes, and waits for inside its rank where nothing contends, by cause.
  std::span<const WorkTime> work() const { return work_; }
  /// Passes of the latest graph, those of one lane in their order.
  std::span<const MadePass> passes() const { return passes_; }

 private:
  StepDetail detail_;
  std::optional<GroupLinks> links_;
  RankProgramBuilder program_builder_;
  std::vector<Lane> lanes_;  // [n_ranks x pp_degree] of this step, then some left from earlier steps.
  std::vector<StateExchange> states_;  // [n_chunks] of this step, then some left from earlier steps.
  ExpertSync experts_;
  SyncPoints sync_points_;
  std::vector<WorkTime> work_;
  std::vector<MadePass> passes_;
};

}  // namespace packsim
