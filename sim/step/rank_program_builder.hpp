#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/pipeline/pipeline_schedule.hpp"
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
  // State of a micro-batch's pass through a chunk while the operations are made.
  struct Pass {
    bool is_made = false;
    OpId sent = OpGraph::kNone;  // The transfer to the next chunk.
  };
  using Orders = std::vector<std::vector<PipelinePass>>;  // [n_stages]

  // Whether every stage of a layer becomes operations of its own; else all layers of a unit are one
  // operation.
  bool by_stage() const { return detail_ == StepDetail::stages || experts_->any(); }
  Lane& lane_of(std::size_t chunk) { return lanes_[chunk % lanes_.size()]; }
  std::size_t last_chunk() const { return plan_->chunks.size() - 1; }
  std::size_t index(std::size_t chunk, int micro_batch) const;
  bool sends_in_node(std::size_t chunk) const;
  const Orders& orders(int n_micro_batches);
  const Pass* before(std::size_t chunk, const PipelinePass& pass) const;
  bool advance(const Orders& orders);
  void make_pass(std::size_t chunk, const PipelinePass& pass, const Pass* waits_for);

  void sync_before(std::size_t micro_batch);
  void forward(std::size_t chunk_index, const ChunkShape& chunk, const MicroBatchPrice& price, bool is_first);
  void backward(std::size_t chunk_index, const ChunkShape& chunk, const MicroBatchPrice& price, bool is_first,
                bool is_last);
  bool makes_at_once(Lane& lane, std::span<const StateUnit> units);
  void forward_layers(Lane& lane, const ChunkShape& chunk, const StateUnit& unit,
                      const MicroBatchPrice& price);
  void backward_layers(Lane& lane, const ChunkShape& chunk, const StateUnit& unit,
                       const MicroBatchPrice& price);
  std::int64_t layer_forward_ns(const MicroBatchPrice& price, bool has_experts, double slow_down);
  std::int64_t layer_backward_ns(const MicroBatchPrice& price, bool has_experts, bool is_checkpointed,
                                 double slow_down);
  void layer_phase(Lane& lane, PricedPhase LayerPrices::*phase, bool has_experts,
                   const MicroBatchPrice& price);
  void edge_phase(Lane& lane, const PricedPhase& phase);

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

  // Of the pass that is made, where layers are single operations: the time of a layer in the pass's
  // direction, by experts and checkpointing, or kUnknown.
  static constexpr std::int64_t kUnknown = -1;
  std::array<std::int64_t, 4> layer_ns_ = {};

  std::vector<std::size_t> next_;  // [n_stages]
  std::vector<Pass> forward_;      // [n_chunks x n_micro_batches]
  std::vector<Pass> backward_;
  // By schedule, stages, chunks of a stage, and micro-batches.
  std::map<std::tuple<std::string_view, int, int, int>, Orders> orders_;
};

}  // namespace packsim
