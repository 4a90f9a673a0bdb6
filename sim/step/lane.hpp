#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/step/pass/pass_time.hpp"
#include "models/step/step_price.hpp"
#include "sim/engine/op_graph.hpp"
#include "sim/network/group_links.hpp"
#include "sim/step/step_detail.hpp"
#include "sim/step/sync_points.hpp"

namespace packsim {

/// What a simulated GPU does inside collectives that stand for several exchanges and the computation between
/// them.
struct InsideTime {
  std::int64_t computed_ns = 0;
  std::int64_t idle_ns = 0;  ///< waiting for slower ranks
};

/// Makes the operations of one simulated GPU in one step, on its compute stream and its communication
/// streams. Keeps its memory from step to step.
class Lane {
 public:
  /// Starts a new step in the graph, which is kept by reference. gpu: the simulated GPU. links: null if
  /// transfers do not share links.
  void begin(OpGraph& graph, std::uint32_t rank, int gpu, StepDetail detail, GroupLinks* links);

  /// Adds a segment of a pass. Computation starts after everything that the lane has been told to wait for.
  /// attention: its price where the segment is attention.
  void add(const PassSegment& segment, const RingPrice* attention);
  /// Adds kernels at the end of the compute stream.
  void work(std::int64_t time_ns, Cause cause);
  /// Adds work of the host for which computation waits. It takes the same on a slow GPU.
  void host(std::int64_t time_ns, Cause cause);
  /// Adds a wait for launches of the host, which is shorter where the host got ahead, at most so far.
  void launch_wait(std::int64_t time_ns, std::int64_t most_ahead_ns);
  /// The host waits until the GPU has done all so far, and is no longer ahead.
  void host_reads();
  /// Adds work that takes this long on this GPU, of it so long a wait for launches, and may be merged with
  /// neighbouring work. The caller must book() its causes.
  void merged_work(std::int64_t time_ns, std::int64_t wait_ns = 0, std::int64_t most_ahead_ns = 0);
  void book(const WorkTime& time) { time_ += time; }
  /// From here on, the lane shares its exchanges with other lanes through `shared`, which is kept by
  /// reference. Null: the lane has exchanges of its own again.
  void share_exchanges(SharedExchanges* shared);
  /// Takes part in a collective with other ranks; computation waits for it. own_ns: what it takes of the
  /// rank's own exchange, and not of waiting for others.
  void arrive(CollectiveId collective, Cause cause, std::int64_t own_ns = 0);
  /// Books what the lane does inside the collective at which it has just arrived. The time is then not the
  /// collective's.
  void book_inside(std::int64_t computed_ns, std::int64_t idle_ns);
  /// Sends activations, or their gradients, to another lane. Returns the operation that the receiver has to
  /// wait for.
  OpId send(const MicroBatchPrice& price, bool is_forward, int to_gpu, bool is_in_node);

  /// Later computation of the lane starts only after this operation has ended. kNone: there is nothing to
  /// wait for.
  void wait_for(OpId op);
  /// The operation that ends last of all computation and waiting so far, or kNone if there is none.
  OpId computed();

  /// The stream for collectives of weights and gradients.
  StreamId states_stream() { return stream(states_); }
  /// The streams for copies of weights from the host, and of gradients to it.
  StreamId from_host_stream() { return stream(from_host_); }
  StreamId to_host_stream() { return stream(to_host_); }
  int gpu() const { return gpu_; }
  /// Factor on the prices of all kernels from here on.
  double slow_down() const { return slow_down_; }
  void set_slow_down(double slow_down) { slow_down_ = slow_down; }
  /// Number of operations in the whole graph so far.
  OpId n_ops() const { return static_cast<OpId>(graph_->ops().size()); }
  /// Time that the lane has computed so far, and waited for exchanges inside its rank.
  const WorkTime& time() const { return time_; }
  const InsideTime& inside() const { return inside_; }

 private:
  // The given stream, which is added to the graph when it is first used.
  StreamId stream(StreamId& communication);
  void compute(std::int64_t time_ns, Cause cause);
  void add_launch_wait(std::int64_t time_ns, std::int64_t most_ahead_ns);
  // A copy to or from the host takes the same on a slow GPU. Computation waits for it, as for an exchange
  // inside the rank.
  void host_copy(std::int64_t time_ns);
  void exchange(const PassSegment& segment);
  // Adds attention; for ring attention, also the transfers that run at the same time.
  void attention(const RingPrice& ring, Cause cause);
  // Whether the links of the lane's next exchange must be computed. For a shared exchange only the first lane
  // does so.
  bool needs_links() const {
    return links_ != nullptr && (shared_ == nullptr || !shared_->is_made(n_shared_));
  }
  // Adds a transfer to a stream. It starts after everything that the lane has computed and waited for so far.
  OpId transfer(StreamId on, std::int64_t time_ns, Cause cause, std::span<const LinkUse> uses);
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
  StreamId from_host_ = OpGraph::kNone;
  StreamId to_host_ = OpGraph::kNone;
  std::array<StreamId, 2> send_ = {};  // forward, backward
  SharedExchanges* shared_ = nullptr;
  std::size_t n_shared_ = 0;  // shared exchanges that the lane has taken part in
  std::vector<OpId> waits_;
  std::int64_t work_ns_ = 0;  // of the stream so far: computation, waits for launches, exchanges of its own
  WorkTime time_;
  InsideTime inside_;
};

}  // namespace packsim
