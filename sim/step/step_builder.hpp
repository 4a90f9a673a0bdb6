#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/step/micro_batch_time.hpp"
#include "sim/engine/op_graph.hpp"
#include "sim/network/group_links.hpp"
#include "sim/network/topology.hpp"
#include "sim/step/expert_meetings.hpp"
#include "sim/step/lane.hpp"
#include "sim/step/rank_meetings.hpp"
#include "sim/step/rank_steps.hpp"
#include "sim/step/rank_work.hpp"
#include "sim/step/state_exchange.hpp"
#include "sim/step/step_detail.hpp"

namespace packsim {

/// Makes the operations of one optimizer step. Keeps its memory from step to step.
///
/// ZeRO 0, 1: gradients travel once a step, bucket by bucket as the last micro-batch's backward pass fills
///   them. ZeRO 1, 2: changed weights are gathered behind the optimizer, before the step ends.
/// ZeRO 2: gradients travel in every micro-batch; a bucket is filled again when the one before the last has
///   left.
/// ZeRO 3: weights are gathered one unit ahead of the computation, forward and again backward; gradients of a
///   unit travel behind its backward pass and behind the gather that is under way.
/// Without plan.overlaps_states computation waits for each of these.
///
/// Gradients of a rank's micro-batches after its first are added to those before, unit by unit.
///
/// Experts that are spread over several ranks' GPUs make these ranks wait for each other in every exchange
/// with them. A rank that has run out of micro-batches is waited for by nobody.
///
/// Ranks may have plans of different sequence degrees side by side if their states are cut alike: the first
/// rank's states count, and with them all ranks meet.
class StepBuilder {
 public:
  /// topology: null where nothing contends.
  StepBuilder(StepDetail detail, const Topology* topology);

  /// Throws std::invalid_argument for a pipeline that does not exist, ranks or micro-batches of different
  /// pipelines, and for meetings of ranks that are pipelines or share experts.
  void build(std::span<const RankWork> ranks, OpGraph& graph);

  /// Of the latest graph: its simulated ranks are [n_ranks x pp_degree], stages of one rank beside each
  /// other. What each computes, and waits for inside its rank where nothing contends, by cause.
  std::span<const WorkTime> work() const { return work_; }
  /// Of the latest graph, those of a lane in their order.
  std::span<const MadePass> passes() const { return passes_; }

 private:
  StepDetail detail_;
  std::optional<GroupLinks> links_;
  RankSteps rank_steps_;
  std::vector<Lane> lanes_;            // [n_ranks x pp_degree], and more of earlier steps
  std::vector<StateExchange> states_;  // [n_chunks], and more of earlier steps
  ExpertMeetings experts_;
  RankMeetings meetings_;
  std::vector<WorkTime> work_;
  std::vector<MadePass> passes_;
};

}  // namespace packsim
