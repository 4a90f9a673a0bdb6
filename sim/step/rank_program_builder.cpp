#include "sim/step/rank_program_builder.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/state_traffic.hpp"

namespace packsim {
namespace {

// A layer of a chunk.
struct Layer {
  bool has_experts = false;
  bool is_checkpointed = false;
};
Layer layer_of(const ChunkShape& chunk, int index) {
  return {index >= chunk.n_dense, index < chunk.n_checkpointed};
}

}  // namespace

void RankProgramBuilder::make(const RankWork& work, std::size_t rank, std::span<Lane> lanes,
                              std::span<StateExchange> states, ExpertSync& experts, SyncPoints& sync_points,
                              std::vector<MadePass>& passes) {
  work_ = &work;
  plan_ = work.plan;
  rank_ = rank;
  lanes_ = lanes;
  states_ = states;
  experts_ = &experts;
  sync_points_ = &sync_points;
  next_sync_point_ = 0;
  passes_ = &passes;
  next_.assign(lanes.size(), 0);
  const std::size_t n_passes = plan_->chunks.size() * work.micro_batches.size();
  forward_.assign(n_passes, {});
  backward_.assign(n_passes, {});
  for (std::size_t chunk = 0; chunk < states_.size(); ++chunk) states_[chunk].begin_turn(lane_of(chunk));

  const Orders& orders = this->orders(static_cast<int>(work.micro_batches.size()));
  while (advance(orders)) {
  }
  sync_before(work.micro_batches.size());
  for (std::size_t stage = 0; stage < lanes_.size(); ++stage)
    lanes_[stage].set_slow_down(work.slow_down(stage));
  for (StateExchange& of_chunk : states_) of_chunk.wait_for_gradients();
  for (std::size_t chunk = 0; chunk < states_.size(); ++chunk)
    lane_of(chunk).work(plan_->states[chunk].optimizer_ns, Cause::optimizer);
  for (StateExchange& of_chunk : states_) of_chunk.gather_changed();
  for (Lane& lane : lanes_) lane.work(plan_->states.front().step_ns, Cause::overhead);
}

std::size_t RankProgramBuilder::index(std::size_t chunk, int micro_batch) const {
  return chunk * work_->micro_batches.size() + static_cast<std::size_t>(micro_batch);
}

const RankProgramBuilder::Orders& RankProgramBuilder::orders(int n_micro_batches) {
  const ParallelPlan& plan = plan_->plan;
  const auto [place, is_new] =
      orders_.try_emplace({plan.schedule().name, plan.pp_degree, plan.virtual_stages, n_micro_batches});
  if (is_new) {
    Orders orders;
    for (int stage = 0; stage < plan.pp_degree; ++stage)
      orders.push_back(pipeline_order(plan.schedule(), plan.pipeline_shape(n_micro_batches), stage));
    place->second = std::move(orders);
  }
  return place->second;
}

// Whether a chunk and the next one exchange activations and gradients inside a node.
bool RankProgramBuilder::sends_in_node(std::size_t chunk) const {
  return !plan_->sends_in_node.empty() && plan_->sends_in_node[chunk % lanes_.size()];
}

// The pass that this one waits for; null for the first pass of a micro-batch.
const RankProgramBuilder::Pass* RankProgramBuilder::before(std::size_t chunk,
                                                           const PipelinePass& pass) const {
  if (pass.is_forward) return chunk == 0 ? nullptr : &forward_[index(chunk - 1, pass.micro_batch)];
  return chunk == last_chunk() ? &forward_[index(chunk, pass.micro_batch)]
                               : &backward_[index(chunk + 1, pass.micro_batch)];
}

// Makes the next pass of every stage whose input is there. False once all passes are made.
bool RankProgramBuilder::advance(const Orders& orders) {
  bool is_done = true;
  bool has_moved = false;
  for (std::size_t stage = 0; stage < orders.size(); ++stage) {
    if (next_[stage] == orders[stage].size()) continue;
    is_done = false;
    const PipelinePass& pass = orders[stage][next_[stage]];
    const std::size_t chunk = static_cast<std::size_t>(pass.chunk) * orders.size() + stage;
    const Pass* waits_for = before(chunk, pass);
    if (waits_for != nullptr && !waits_for->is_made) continue;
    make_pass(chunk, pass, waits_for);
    ++next_[stage];
    has_moved = true;
  }
  if (!is_done && !has_moved) throw std::logic_error("a pipeline's stages wait for each other");
  return !is_done;
}

// Ranks with sync points have no pipeline, and so one lane.
void RankProgramBuilder::sync_before(std::size_t micro_batch) {
  Lane& lane = lanes_.front();
  lane.share_exchanges(nullptr);
  for (; next_sync_point_ < work_->sync_points.size(); ++next_sync_point_) {
    const SyncPoint& point = work_->sync_points[next_sync_point_];
    if (point.before > micro_batch) break;
    lane.arrive(sync_points_->collective(point.id), Cause::sequence);
    if (point.is_shared) lane.share_exchanges(&sync_points_->exchanges(point.id));
  }
}

void RankProgramBuilder::make_pass(std::size_t chunk, const PipelinePass& pass, const Pass* waits_for) {
  Lane& lane = lane_of(chunk);
  const auto micro_batch = static_cast<std::size_t>(pass.micro_batch);
  const MicroBatchPrice& price = *work_->micro_batches[micro_batch];
  const ChunkShape& shape = work_->plan_of(micro_batch).chunks[chunk];
  // The last chunk's backward pass follows its own forward pass: nothing is sent.
  const bool is_turn = !pass.is_forward && chunk == last_chunk();
  if (waits_for != nullptr && !is_turn) lane.wait_for(waits_for->sent);
  lane.set_slow_down(work_->slow_down(chunk, micro_batch, pass.is_forward));
  if (experts_->any()) experts_->begin_pass({rank_, chunk, micro_batch, pass.is_forward});
  if (pass.is_forward && chunk == 0 && !work_->sync_points.empty()) sync_before(micro_batch);
  layer_ns_.fill(kUnknown);
  const OpId first_op = lane.n_ops();
  Pass& made = (pass.is_forward ? forward_ : backward_)[index(chunk, pass.micro_batch)];
  made.is_made = true;
  if (pass.is_forward) {
    forward(chunk, shape, price, micro_batch == 0);
    if (chunk < last_chunk())
      made.sent = lane.send(price, true, lane_of(chunk + 1).gpu(), sends_in_node(chunk));
  } else {
    backward(chunk, shape, price, micro_batch == 0, micro_batch + 1 == work_->micro_batches.size());
    if (chunk > 0) made.sent = lane.send(price, false, lane_of(chunk - 1).gpu(), sends_in_node(chunk - 1));
  }
  passes_->push_back({.lane = static_cast<std::uint32_t>(rank_ * lanes_.size() + chunk % lanes_.size()),
                      .chunk = static_cast<std::uint32_t>(chunk),
                      .micro_batch = static_cast<std::uint32_t>(micro_batch),
                      .is_forward = pass.is_forward,
                      .first_op = first_op,
                      .end_op = lane.n_ops()});
}

void RankProgramBuilder::forward(std::size_t chunk_index, const ChunkShape& chunk,
                                 const MicroBatchPrice& price, bool is_first) {
  Lane& lane = lane_of(chunk_index);
  const bool gathers = gathers_every_pass(plan_->plan) || (is_first && gathers_in_forward(plan_->plan));
  if (by_stage()) {
    lane.work(price.overhead_ns, Cause::overhead);
  } else {
    const WorkTime time = forward_time(price, chunk, lane.slow_down());
    lane.book(time);
    lane.merged_work(gathers ? price.overhead_ns : time.total_ns);
    if (!gathers) return;
  }
  const std::vector<StateUnit>& units = plan_->states[chunk_index].units;
  if (!gathers && makes_at_once(lane, units)) return;
  for (const StateUnit& unit : units) {
    if (gathers) states_[chunk_index].gather_ahead(unit);
    if (gathers && makes_at_once(lane, {&unit, 1})) continue;
    if (unit.has_embedding) edge_phase(lane, price.tokens->embedding_forward);
    forward_layers(lane, chunk, unit, price);
    if (unit.has_head) edge_phase(lane, price.tokens->head_forward);
  }
}

void RankProgramBuilder::backward(std::size_t chunk_index, const ChunkShape& chunk,
                                  const MicroBatchPrice& price, bool is_first, bool is_last) {
  Lane& lane = lane_of(chunk_index);
  StateExchange& states = states_[chunk_index];
  const std::vector<StateUnit>& units = plan_->states[chunk_index].units;
  const ParallelPlan& plan = plan_->plan;
  const bool at_end = reduces_after_backward(plan);
  const bool reduces = !at_end && (is_last || reduces_every_micro_batch(plan));
  if (at_end && is_last) states.reduce_at_end();
  const bool in_between = reduces_during_backward(plan, is_last);
  if (!by_stage()) {
    const WorkTime time = backward_time(price, chunk, lane.slow_down());
    lane.book(time);
    if (!in_between) lane.merged_work(time.total_ns);
  }
  // Ranks that share experts make the same stretches, whichever of them reduces its gradients.
  const bool by_unit = reduces || gathers_every_pass(plan) || reduces_from_two_buckets(plan) ||
                       (experts_->any() && experts_->is_last_of_any());
  if (!by_unit && makes_at_once(lane, units)) return;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (gathers_every_pass(plan)) states.gather_ahead(*unit);
    if (reduces_from_two_buckets(plan)) states.wait_for_buffer();
    if (!by_unit || !makes_at_once(lane, {&*unit, 1})) {
      if (by_stage() || in_between) {
        if (unit->has_head) edge_phase(lane, price.tokens->head_backward);
        backward_layers(lane, chunk, *unit, price);
        if (unit->has_embedding) edge_phase(lane, price.tokens->embedding_backward);
      }
      if (!is_first) lane.work(unit->sum_ns, Cause::linear);
    }
    if (reduces) states.reduce(*unit);
  }
}

// Where ranks share experts, the layers of these units as a whole. False where they must be made one by one.
bool RankProgramBuilder::makes_at_once(Lane& lane, std::span<const StateUnit> units) {
  if (!experts_->any()) return false;
  const RankStretch* stretch = experts_->next_stretch(units);
  if (stretch == nullptr) return false;
  lane.book(stretch->time);
  lane.merged_work(stretch->before_ns);
  if (stretch->collective == OpGraph::kNone) return true;
  lane.arrive(stretch->collective, Cause::expert);
  lane.book_inside(stretch->inside_ns, stretch->idle_ns);
  lane.merged_work(stretch->after_ns);
  return true;
}

void RankProgramBuilder::forward_layers(Lane& lane, const ChunkShape& chunk, const StateUnit& unit,
                                        const MicroBatchPrice& price) {
  for (int i = 0; by_stage() && i < unit.n_layers; ++i) {
    const Layer layer = layer_of(chunk, unit.first_layer + i);
    layer_phase(lane, &LayerPrices::forward, layer.has_experts, price);
    if (layer.is_checkpointed) lane.host_copy(price.to_host_ns[layer.has_experts ? 1 : 0]);
  }
  if (by_stage()) return;
  std::int64_t copies_ns = 0;
  for (int i = 0; i < unit.n_layers; ++i) {
    const Layer layer = layer_of(chunk, unit.first_layer + i);
    if (layer.is_checkpointed) copies_ns += price.to_host_ns[layer.has_experts ? 1 : 0];
  }
  if (copies_ns > 0) lane.merged_work(copies_ns);
  const int n_dense = std::clamp(chunk.n_dense - unit.first_layer, 0, unit.n_layers);
  for (const bool has_experts : {false, true}) {
    const int n_layers = has_experts ? unit.n_layers - n_dense : n_dense;
    if (n_layers == 0) continue;
    lane.merged_work(n_layers * layer_forward_ns(price, has_experts, lane.slow_down()));
  }
}

void RankProgramBuilder::backward_layers(Lane& lane, const ChunkShape& chunk, const StateUnit& unit,
                                         const MicroBatchPrice& price) {
  std::int64_t total_ns = 0;
  for (int i = unit.n_layers; i-- > 0;) {
    const Layer layer = layer_of(chunk, unit.first_layer + i);
    if (by_stage()) {
      if (layer.is_checkpointed) layer_phase(lane, &LayerPrices::recompute, layer.has_experts, price);
      layer_phase(lane, &LayerPrices::backward, layer.has_experts, price);
      if (layer.is_checkpointed) lane.host_copy(price.from_host_ns[layer.has_experts ? 1 : 0]);
      continue;
    }
    total_ns += layer_backward_ns(price, layer.has_experts, layer.is_checkpointed, lane.slow_down());
  }
  if (total_ns > 0) lane.merged_work(total_ns);
}

std::int64_t RankProgramBuilder::layer_forward_ns(const MicroBatchPrice& price, bool has_experts,
                                                  double slow_down) {
  std::int64_t& known = layer_ns_[has_experts ? 2 : 0];
  if (known == kUnknown) known = layer_forward_time(price, has_experts, slow_down).total_ns;
  return known;
}

std::int64_t RankProgramBuilder::layer_backward_ns(const MicroBatchPrice& price, bool has_experts,
                                                   bool is_checkpointed, double slow_down) {
  std::int64_t& known = layer_ns_[(has_experts ? 2U : 0U) + (is_checkpointed ? 1U : 0U)];
  if (known == kUnknown) known = layer_backward_time(price, has_experts, is_checkpointed, slow_down).total_ns;
  return known;
}

void RankProgramBuilder::layer_phase(Lane& lane, PricedPhase LayerPrices::*phase, bool has_experts,
                                     const MicroBatchPrice& price) {
  const PricedPhase& own = price.tokens->layers[has_experts ? 1 : 0].*phase;
  const bool is_backward = phase == &LayerPrices::backward;
  for (std::size_t i = 0; i < own.stages.size(); ++i) {
    const PricedStage& stage = own.stages[i];
    switch (stage.kind) {
      case PricedStage::Kind::compute:
        lane.work(stage.time_ns, stage.cause);
        break;
      case PricedStage::Kind::attention:
        lane.attention(is_backward ? price.attention_backward : price.attention_forward, stage.cause);
        break;
      case PricedStage::Kind::exchange:
        if (stage.cause == Cause::expert && experts_->any()) {
          lane.arrive(experts_->next(phase, i, lane.gpu()), stage.cause);
        } else {
          lane.exchange(stage);
        }
        break;
    }
  }
  lane.work(price.launch_wait[has_experts ? 1 : 0].of(phase), Cause::overhead);
}

// The embedding or the head.
void RankProgramBuilder::edge_phase(Lane& lane, const PricedPhase& phase) {
  if (!by_stage()) {
    lane.merged_work(phase_time(phase, lane.slow_down()).total_ns);
    return;
  }
  for (const PricedStage& stage : phase.stages) {
    if (stage.kind == PricedStage::Kind::exchange) {
      lane.exchange(stage);
    } else {
      lane.work(stage.time_ns, stage.cause);
    }
  }
}

}  // namespace packsim
