#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "models/pipeline/passes_in_order.hpp"
#include "sim/step/expert_sync.hpp"
#include "sim/step/lane.hpp"
#include "sim/step/rank_work.hpp"
#include "sim/step/state_exchange.hpp"
#include "sim/step/sync_points.hpp"

namespace packsim {

/// A micro-batch's pass through a chunk, as operations first_op to end_op - 1: what its lane computes and
/// sends, and the collectives of weights and gradients that it starts.
struct MadePass {
  std::uint32_t lane = 0;
  std::uint32_t chunk = 0;
  std::uint32_t micro_batch = 0;  ///< Index among the rank's micro-batches.
  bool is_forward = true;
  OpId first_op = 0;
  OpId end_op = 0;
};

/// Makes the operations of one data-parallel rank in one step: the passes of its micro-batches through the
/// chunks of its pipeline, gradients, optimizer and weights. Keeps its memory from rank to rank.
class RankProgramBuilder {
 public:
  explicit RankProgramBuilder(StepDetail detail) : detail_(detail) {}

  /// Makes the operations of the rank with this index, and adds its passes to the end of `passes`. lanes:
  /// [n_stages]. states: [n_chunks]; each starts a turn of this rank's lane (StateExchange::begin_turn()).
  void make(const RankWork& work, std::size_t rank, std::span<Lane> lanes, std::span<StateExchange> states,
            ExpertSync& experts, SyncPoints& sync_points, std::vector<MadePass>& passes);

 private:
  // Whether every segment of a pass becomes operations of its own; else all layers of a unit are one
  // operation.
  bool by_segment() const { return detail_ == StepDetail::stages || experts_->any(); }
  Lane& lane_of(std::size_t chunk) { return lanes_[chunk % lanes_.size()]; }
  std::size_t last_chunk() const { return plan_->chunks.size() - 1; }
  bool sends_in_node(std::size_t chunk) const;
  const std::vector<OrderedPass>& passes(int n_micro_batches);
  OpId make_pass(const OrderedPass& pass);

  void sync_before(std::size_t micro_batch);
  void optimizer(std::size_t chunk);
  void add_sum(Lane& lane, const StateUnit& unit);
  void forward(std::size_t chunk_index, bool is_first);
  void backward(std::size_t chunk_index, bool is_first, bool is_last);
  const PassList& list();
  // How a micro-batch runs through chunks of one shape: those of a pipeline have two or three shapes.
  struct KnownShape {
    // The latest pass in a direction.
    struct Pass {
      double slow_down = 0;  // none is known yet
      WorkTime time = {};
    };
    ChunkShape shape;
    HostWait host;
    std::array<Pass, 2> passes = {};  // forward, backward
  };
  // A pass or a part of it: its time, and what of it is waiting for launches.
  struct WholeTime {
    std::int64_t total_ns = 0;
    std::int64_t wait_ns = 0;
    std::int64_t most_ahead_ns = 0;
  };
  KnownShape& known_shape(const MicroBatchPrice& price, const ChunkShape& shape);
  WholeTime book_pass(Lane& lane);
  WholeTime part(const PassPart& part, double slow_down);
  bool makes_at_once(Lane& lane, std::span<const StateUnit> units);
  void compute(Lane& lane, const StateUnit& unit);
  void add_segments(Lane& lane, const PassPart& part);

  StepDetail detail_;
  const RankWork* work_ = nullptr;
  const PricedPlan* plan_ = nullptr;
  std::span<Lane> lanes_;
  std::span<StateExchange> states_;
  ExpertSync* experts_ = nullptr;
  SyncPoints* sync_points_ = nullptr;
  std::size_t next_sync_point_ = 0;
  std::vector<MadePass>* passes_ = nullptr;
  std::size_t rank_ = 0;

  // The pass that is made.
  const MicroBatchPrice* price_ = nullptr;
  const ChunkShape* shape_ = nullptr;
  bool is_forward_ = true;
  std::optional<PassList> list_;            // made where it is asked for
  const MicroBatchTimes* times_ = nullptr;  // of its micro-batch
  // Where layers are single operations: a layer of the pass by form, once it is known.
  std::array<std::optional<WholeTime>, kNLayerForms> layers_ = {};

  // The shapes that are known of a price. Equal packs share a price, and work_ outlives make().
  std::unordered_map<const MicroBatchPrice*, std::vector<KnownShape>> known_shapes_;

  std::vector<OpId> sent_;  // [n_passes] what passes send to the next chunk
  // The key is schedule, stages, chunks of a stage, and micro-batches.
  std::map<std::tuple<std::string_view, int, int, int>, std::vector<OrderedPass>> orders_;
};

}  // namespace packsim
