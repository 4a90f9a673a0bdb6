#pragma once

#include <string_view>
#include <vector>

#include "models/parallel_plan.hpp"
#include "sim/step/lane.hpp"

namespace packsim {

/// Makes the collectives that carry weights and gradients of one chunk of the model in one step. The lanes of
/// the chunk, one of each data-parallel rank, take turns; each joins the same collectives in the same order,
/// for as many micro-batches as it has. Keeps its memory from step to step.
class StateExchange {
 public:
  /// Starts a new step. links: null where transfers do not share links. Arguments are kept by reference.
  void begin(OpGraph& graph, const StatesPrice& states, const ParallelPlan& plan, GroupLinks* links);
  /// Adds a GPU that is simulated by a lane of the chunk. The first one added is the first of the group.
  void add_representative(int gpu) { representatives_.push_back(gpu); }

  void begin_turn(Lane& lane);
  /// What the lane computes next waits for the unit's weights. Under ZeRO 3 they are gathered while the lane
  /// computes with the unit before; at other stages, from the start of the step on.
  void gather_ahead(const StateUnit& unit);
  /// ZeRO 2 has two buffers for gradients: what the lane computes next waits until the reduction two buckets
  /// earlier is done.
  void wait_for_buffer();
  /// Gradients of what has been computed transfer.
  void reduce(const StateUnit& unit);
  /// What the lane computes next waits for all gradients.
  void wait_for_gradients();
  /// What the lane computes next waits for the weights that the optimizer has changed, unless the next step
  /// gathers them beside its forward pass.
  void gather_changed();

 private:
  // Collectives of one kind, in the order in which every lane joins them.
  struct CollectiveSequence {
    std::vector<CollectiveId> ids;
    std::size_t next = 0;  // Position of the lane whose turn it is.
  };
  struct Transfer {
    std::string_view op = {};
    std::int64_t time_ns = 0;
    std::int64_t bytes = 0;
    OpId after = OpGraph::kNone;
  };
  Transfer reduction(const StateUnit& unit) const;
  OpId join(CollectiveSequence& sequence, const Transfer& transfer);
  // Joins one collective after another. They are merged into one where transfers do not share links, as that
  // ends at the same time.
  OpId join_all(CollectiveSequence& sequence, const std::vector<Transfer>& transfers);
  void send_held_back();

  OpGraph* graph_ = nullptr;
  const StatesPrice* states_ = nullptr;
  const ParallelPlan* plan_ = nullptr;
  GroupLinks* links_ = nullptr;
  std::vector<int> representatives_;
  CollectiveSequence gathers_;
  CollectiveSequence reductions_;
  CollectiveSequence at_end_;
  // Of the lane whose turn it is.
  Lane* lane_ = nullptr;
  std::vector<OpId> reduced_;
  std::vector<Transfer> deferred_;     // Reductions that start after the last backward pass.
  std::vector<Transfer> held_back_;    // ZeRO 3: reductions that let the next gather go first.
  std::vector<Transfer> changed_;      // Scratch memory of gather_changed().
  OpId before_last_ = OpGraph::kNone;  // Computation that ended before the latest gather.
};

}  // namespace packsim
