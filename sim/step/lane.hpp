#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/step/micro_batch_time.hpp"
#include "models/step/step_price.hpp"
#include "sim/engine/op_graph.hpp"
#include "sim/network/group_links.hpp"
#include "sim/step/rank_meetings.hpp"
#include "sim/step/step_detail.hpp"

namespace packsim {

/// One simulated GPU while the operations of its step are made: a compute stream, and the streams of its
/// communication. Keeps its memory from step to step.
class Lane {
 public:
  /// A step of its own in the graph, which is kept by reference. gpu: that it stands for. links: null where
  /// nothing contends.
  void begin(OpGraph& graph, std::uint32_t rank, int gpu, StepDetail detail, GroupLinks* links);

  /// Kernels at the end of the compute stream, behind everything it was told to wait for; the framework's
  /// overhead is not slowed down.
  void work(std::int64_t time_ns, Cause cause);
  /// What takes so long on this GPU, as one with what is beside it; whoever calls this books its causes.
  void merged_work(std::int64_t time_ns);
  void book(const WorkTime& time) { time_ += time; }
  /// An exchange inside the rank, for which computation waits.
  void exchange(const PricedStage& stage);
  /// Attention, with its ring's transfers beside it.
  void attention(const RingPrice& ring, Cause cause);
  /// Exchanges from here on are those of other lanes too; null: the lane's own. Kept by reference.
  void share_exchanges(SharedExchanges* shared);
  /// A collective with other ranks, for which computation waits.
  void meet(CollectiveId collective, Cause cause);
  /// Activations, or their gradients, to the next lane; returns what that has to wait for.
  OpId send(const MicroBatchPrice& price, bool is_forward, int to_gpu, bool is_in_node);

  /// What is computed next starts behind this; kNone waits for nothing.
  void wait_for(OpId op);
  /// The end of what has been computed and waited for; kNone before anything has.
  OpId computed();

  /// The stream of the states' collectives.
  StreamId states_stream() { return stream(states_); }
  int gpu() const { return gpu_; }
  /// How many times as long as priced the kernels from here on take.
  double slow_down() const { return slow_down_; }
  void set_slow_down(double slow_down) { slow_down_ = slow_down; }
  /// Of the whole graph, so far.
  OpId n_ops() const { return static_cast<OpId>(graph_->ops().size()); }
  /// What it has computed so far, and waited for inside its rank.
  const WorkTime& time() const { return time_; }

 private:
  // Streams are made when they are first used.
  StreamId stream(StreamId& communication);
  void compute(std::int64_t time_ns, Cause cause);
  // Whether the links of its next exchange matter: those of shared ones are the first lane's.
  bool needs_links() const {
    return links_ != nullptr && (shared_ == nullptr || !shared_->is_made(n_shared_));
  }
  // Takes time on a stream and its links, behind what is computed and waited for.
  OpId travel(StreamId on, std::int64_t time_ns, Cause cause, std::span<const LinkUse> uses);
  std::span<const LinkUse> ring_links(const RingPrice& ring) const;

  OpGraph* graph_ = nullptr;
  std::uint32_t rank_ = 0;
  int gpu_ = 0;
  StepDetail detail_ = StepDetail::micro_batches;
  double slow_down_ = 1;
  GroupLinks* links_ = nullptr;
  StreamId compute_ = OpGraph::kNone;
  StreamId exchange_ = OpGraph::kNone;
  StreamId states_ = OpGraph::kNone;
  std::array<StreamId, 2> send_ = {};  // forward, backward
  SharedExchanges* shared_ = nullptr;
  std::size_t n_shared_ = 0;  // that it has taken part in
  std::vector<OpId> waits_;
  WorkTime time_;
};

}  // namespace packsim
