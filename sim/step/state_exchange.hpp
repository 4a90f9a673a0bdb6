#pragma once

#include <string_view>
#include <vector>

#include "models/parallel_plan.hpp"
#include "sim/step/lane.hpp"

namespace packsim {

/// Makes the collectives of one step that transfer the weights and gradients of one chunk of the model.
///
/// The lanes of the chunk, one for each data-parallel rank, take turns. Each lane joins the same collectives
/// in the same order, for as many micro-batches as it has: gathers and reduce-scatters with the lanes of its
/// shard group, and all-reduces between replicas with all lanes. A lane that stands for GPUs of several shard
/// groups counts as one of its first GPU's group. One object serves all steps and reuses its memory.
class StateExchange {
 public:
  /// Starts a new step. links: null if transfers do not share links. Arguments are kept by reference.
  void begin(OpGraph& graph, const StatesPrice& states, const ParallelPlan& plan, GroupLinks* links);
  /// Adds the GPU that a lane of the chunk simulates.
  void add_representative(int gpu);

  void begin_turn(Lane& lane);
  /// Later computation of the lane waits for the unit's weights. Under ZeRO 3 they are gathered while the
  /// lane computes with the unit before; at other stages, and with a pipeline, they are gathered from the
  /// start of the step on.
  void gather_ahead(const StateUnit& unit);
  /// Later computation of the lane waits until the reduction two buckets earlier is done, because ZeRO 2 has
  /// two buffers for gradients.
  void wait_for_buffer();
  /// Reduces the gradients that the lane has computed for the unit. Not for plans that reduce after the
  /// backward pass.
  void reduce(const StateUnit& unit);
  /// Reduces the gradients of all units once the lane's last backward pass has ended, in
  /// wait_for_gradients().
  void reduce_at_end() { reduces_at_end_ = true; }
  /// Later computation of the lane waits for the reductions of all gradients.
  void wait_for_gradients();
  /// Later computation of the lane waits for the gather of the weights that the optimizer has changed, unless
  /// the next step gathers them during its forward pass.
  void gather_changed();

 private:
  // Collectives of one kind, in the order in which every lane joins them.
  struct CollectiveSequence {
    std::vector<CollectiveId> ids;
    // Index of the collective that the lane whose turn it is joins next.
    std::size_t next = 0;
  };
  // The lanes of one shard group.
  struct ShardGroup {
    int first_gpu = 0;
    std::vector<int> representatives;
    CollectiveSequence gathers;
    CollectiveSequence reductions;
    CollectiveSequence at_end;
  };
  // A gather of a unit's weights inside the shard group, or a reduction of its gradients: first inside the
  // group, then between replicas.
  struct Transfer {
    std::string_view op = {};
    std::int64_t time_ns = 0;
    std::int64_t bytes = 0;
    std::int64_t replicas_ns = 0;
    std::int64_t replicas_bytes = 0;
    std::int64_t drain_ns = 0;  // of the copy to host memory after the reduction
    OpId after = OpGraph::kNone;
  };
  int group_span() const { return states_->gpus * states_->stride; }
  ShardGroup& group_of(int gpu);
  Transfer reduction(const StateUnit& unit) const;
  OpId join(CollectiveSequence& sequence, std::int64_t time_ns, std::span<const LinkUse> uses, OpId after);
  // Adds both parts of a transfer. Returns its last operation, or kNone if it takes no time.
  OpId send(CollectiveSequence& in_group, const Transfer& transfer);
  OpId copy(StreamId stream, std::int64_t time_ns, OpId after);
  // Sends the gradients of a unit and copies the shard to the host, if it is offloaded.
  void send_reduction(const Transfer& transfer);
  // Sends transfers_ one after another. If transfers do not share links, transfers_ is empty and the lane
  // joins one collective of all_ns in `alone`, which ends at the same time.
  OpId send_all(CollectiveSequence& in_group, CollectiveSequence& alone, std::int64_t all_ns);
  void send_held_back();

  OpGraph* graph_ = nullptr;
  const StatesPrice* states_ = nullptr;
  const ParallelPlan* plan_ = nullptr;
  GroupLinks* links_ = nullptr;
  std::int64_t all_reductions_ns_ = 0;  // of all units
  std::int64_t all_gathers_ns_ = 0;
  std::int64_t all_drains_ns_ = 0;
  std::size_t n_groups_ = 0;
  std::vector<ShardGroup> groups_;  // [n_groups_] of this step, then unused ones from earlier steps
  std::vector<int> representatives_;
  CollectiveSequence between_replicas_;
  // The following are of the lane whose turn it is.
  Lane* lane_ = nullptr;
  ShardGroup* group_ = nullptr;
  std::vector<OpId> reduced_;
  bool reduces_at_end_ = false;
  // Reductions under ZeRO 3 that wait until the next gather has been sent.
  std::vector<Transfer> held_back_;
  std::vector<Transfer> transfers_;  // scratch memory of send_all()
  // The last computation before the latest gather.
  OpId computed_before_gather_ = OpGraph::kNone;
};

}  // namespace packsim
