#pragma once

#include <string_view>
#include <vector>

#include "models/parallel_plan.hpp"
#include "sim/step/lane.hpp"

namespace packsim {

/// Whether the weights that the last step has changed are gathered beside the first forward pass.
bool gathers_in_forward(const ParallelPlan& plan);

/// Weights and gradients of one chunk of the model while the operations of a step are made. Its lanes, one of
/// each data-parallel rank, take their turns; each takes part in the same collectives in the same order, as
/// far as its micro-batches go. Keeps its memory from step to step.
class StateExchange {
 public:
  /// A step of its own. links: null where nothing contends. All but the representatives are kept by
  /// reference.
  void begin(OpGraph& graph, const StatesPrice& states, const ParallelPlan& plan, GroupLinks* links);
  /// Another GPU that a lane stands for. The first one is the first of the group.
  void add_representative(int gpu) { representatives_.push_back(gpu); }

  void begin_turn(Lane& lane);
  /// What the lane computes next waits for the unit's weights. Under ZeRO 3 they come while it computes with
  /// the unit before; else from the start of the step on.
  void gather_ahead(const StateUnit& unit);
  /// ZeRO 2: what the lane computes next waits until the bucket before the last has left.
  void wait_for_buffer();
  /// Gradients of what has been computed travel.
  void reduce(const StateUnit& unit);
  /// What the lane computes next waits for all gradients.
  void wait_for_gradients();
  /// What the lane computes next waits for the weights that the optimizer has changed, unless these come
  /// beside the next forward pass.
  void gather_changed();

 private:
  // The collectives of a kind, in the order in which lanes come to them.
  struct Meetings {
    std::vector<CollectiveId> ids;
    std::size_t next = 0;  // of the lane whose turn it is
  };
  struct Travel {
    std::string_view op = {};
    std::int64_t time_ns = 0;
    std::int64_t bytes = 0;
    OpId after = OpGraph::kNone;
  };
  Travel reduction(const StateUnit& unit) const;
  OpId join(Meetings& meetings, const Travel& travel);
  // One after another; one meeting where nobody can tell.
  OpId join_all(Meetings& meetings, const std::vector<Travel>& travels);
  void send_held_back();

  OpGraph* graph_ = nullptr;
  const StatesPrice* states_ = nullptr;
  const ParallelPlan* plan_ = nullptr;
  GroupLinks* links_ = nullptr;
  std::vector<int> representatives_;
  Meetings gathers_;
  Meetings reductions_;
  Meetings at_end_;
  // Of the lane whose turn it is.
  Lane* lane_ = nullptr;
  std::vector<OpId> reduced_;
  std::vector<Travel> put_off_;        // to the end of the last backward pass
  std::vector<Travel> held_back_;      // ZeRO 3: to behind the next gather, which is more urgent
  std::vector<Travel> changed_;        // scratch of gather_changed()
  OpId before_last_ = OpGraph::kNone;  // computed when the latest gather was asked for
};

}  // namespace packsim
