#include "sim/step/rank_program_builder.hpp"

#include <algorithm>

#include "models/state_traffic.hpp"

namespace packsim {

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
  for (std::size_t chunk = 0; chunk < states_.size(); ++chunk) states_[chunk].begin_turn(lane_of(chunk));
  known_shapes_.clear();

  sent_.clear();
  for (const OrderedPass& pass : this->passes(static_cast<int>(work.micro_batches.size())))
    sent_.push_back(make_pass(pass));
  sync_before(work.micro_batches.size());
  for (std::size_t stage = 0; stage < lanes_.size(); ++stage)
    lanes_[stage].set_slow_down(work.slow_down(stage));
  for (StateExchange& of_chunk : states_) of_chunk.wait_for_gradients();
  for (std::size_t chunk = 0; chunk < states_.size(); ++chunk) optimizer(chunk);
  for (StateExchange& of_chunk : states_) of_chunk.gather_changed();
  for (Lane& lane : lanes_) lane.host(plan_->states.front().step_ns, Cause::overhead);
}

// The host goes through the tensors while the GPU does what is left in its queue.
void RankProgramBuilder::optimizer(std::size_t chunk) {
  const StatesPrice& states = plan_->states[chunk];
  Lane& lane = lane_of(chunk);
  lane.work(states.optimizer_ns, Cause::optimizer);
  if (states.optimizer_host_ns <= states.optimizer_ns) return;
  const std::size_t n = work_->micro_batches.size();
  HostWait host;
  if (n > 0) host = known_shape(*work_->micro_batches[n - 1].price, work_->plan_of(n - 1).chunks[chunk]).host;
  lane.launch_wait(std::max<std::int64_t>(0, states.optimizer_host_ns - states.optimizer_ns - host.lead_ns),
                   host.most_ahead_ns);
}

// Adds up the gradients of a unit, where this is not the step's first micro-batch.
void RankProgramBuilder::add_sum(Lane& lane, const StateUnit& unit) {
  lane.work(unit.sum_ns, Cause::linear);
  if (unit.sum_wait_ns > 0 && list().host().lead_ns == 0)
    lane.launch_wait(unit.sum_wait_ns, list().host().most_ahead_ns);
}

const std::vector<OrderedPass>& RankProgramBuilder::passes(int n_micro_batches) {
  const ParallelPlan& plan = plan_->plan;
  const auto [place, is_new] =
      orders_.try_emplace({plan.schedule().name, plan.pp_degree, plan.virtual_stages, n_micro_batches});
  if (is_new) place->second = passes_in_order(plan.schedule(), plan.pipeline_shape(n_micro_batches));
  return place->second;
}

// Whether a chunk and the next one exchange activations and gradients inside a node.
bool RankProgramBuilder::sends_in_node(std::size_t chunk) const {
  return !plan_->sends_in_node.empty() && plan_->sends_in_node[chunk % lanes_.size()];
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

// Returns what the pass sends to the next chunk, or kNone.
OpId RankProgramBuilder::make_pass(const OrderedPass& pass) {
  const std::size_t micro_batch = pass.micro_batch;
  const std::size_t chunk = pass.chunk;
  const bool is_forward = pass.is_forward;
  Lane& lane = lane_of(chunk);
  const MicroBatchPrice& price = *work_->micro_batches[micro_batch].price;
  if (pass.input != OrderedPass::kNone) lane.wait_for(sent_[pass.input]);
  lane.set_slow_down(work_->slow_down(chunk, micro_batch, is_forward));
  if (experts_->any()) experts_->begin_pass({rank_, chunk, micro_batch, is_forward});
  if (is_forward && chunk == 0 && !work_->sync_points.empty()) sync_before(micro_batch);
  const OpId first_op = lane.n_ops();
  price_ = &price;
  shape_ = &work_->plan_of(micro_batch).chunks[chunk];
  is_forward_ = is_forward;
  list_.reset();
  times_ = work_->micro_batches[micro_batch].times;
  layers_.fill({});
  OpId sent = OpGraph::kNone;
  if (is_forward) {
    forward(chunk, micro_batch == 0);
    if (chunk < last_chunk()) sent = lane.send(price, true, lane_of(chunk + 1).gpu(), sends_in_node(chunk));
  } else {
    backward(chunk, micro_batch == 0, micro_batch + 1 == work_->micro_batches.size());
    if (price.host.launch_s > 0 && price.host.loss_reads > 0) lane.host_reads();
    if (chunk > 0) sent = lane.send(price, false, lane_of(chunk - 1).gpu(), sends_in_node(chunk - 1));
  }
  passes_->push_back({.lane = static_cast<std::uint32_t>(rank_ * lanes_.size() + chunk % lanes_.size()),
                      .chunk = static_cast<std::uint32_t>(chunk),
                      .micro_batch = static_cast<std::uint32_t>(micro_batch),
                      .is_forward = is_forward,
                      .first_op = first_op,
                      .end_op = lane.n_ops()});
  return sent;
}

RankProgramBuilder::KnownShape& RankProgramBuilder::known_shape(const MicroBatchPrice& price,
                                                                const ChunkShape& shape) {
  std::vector<KnownShape>& shapes = known_shapes_[&price];
  const auto known = std::ranges::find(shapes, shape, &KnownShape::shape);
  if (known != shapes.end()) return *known;
  return shapes.emplace_back(KnownShape{.shape = shape, .host = host_wait(price, shape)});
}

// The list of the pass that is made. Passes whose times are known do without.
const PassList& RankProgramBuilder::list() {
  if (!list_) list_.emplace(*price_, *shape_, is_forward_, &known_shape(*price_, *shape_).host);
  return *list_;
}

void RankProgramBuilder::forward(std::size_t chunk_index, bool is_first) {
  Lane& lane = lane_of(chunk_index);
  const bool gathers = gathers_every_pass(plan_->plan) || (is_first && gathers_in_forward(plan_->plan));
  if (by_segment()) {
    add_segments(lane, {.kind = PassPart::Kind::overhead});
  } else {
    const WholeTime pass = book_pass(lane);
    if (!gathers) return lane.merged_work(pass.total_ns, pass.wait_ns, pass.most_ahead_ns);
    const WholeTime overhead = part({.kind = PassPart::Kind::overhead}, 1);
    lane.merged_work(overhead.total_ns, overhead.wait_ns, overhead.most_ahead_ns);
  }
  const std::vector<StateUnit>& units = plan_->states[chunk_index].units;
  if (!gathers && makes_at_once(lane, units)) return;
  for (const StateUnit& unit : units) {
    if (gathers) states_[chunk_index].gather_ahead(unit);
    if (gathers && makes_at_once(lane, {&unit, 1})) continue;
    compute(lane, unit);
  }
}

void RankProgramBuilder::backward(std::size_t chunk_index, bool is_first, bool is_last) {
  Lane& lane = lane_of(chunk_index);
  StateExchange& states = states_[chunk_index];
  const std::vector<StateUnit>& units = plan_->states[chunk_index].units;
  const ParallelPlan& plan = plan_->plan;
  if (is_last && reduces_after_backward(plan)) states.reduce_at_end();
  const bool reduces = reduces_during_backward(plan, is_last);
  const auto add_sums = [&](std::span<const StateUnit> of_units) {
    if (is_first) return;
    for (const StateUnit& unit : of_units) add_sum(lane, unit);
  };
  if (!by_segment()) {
    const WholeTime pass = book_pass(lane);
    if (!reduces) {
      lane.merged_work(pass.total_ns, pass.wait_ns, pass.most_ahead_ns);
      return add_sums(units);
    }
  }
  // Ranks that share experts make the same stretches, whichever of them reduces its gradients.
  const bool by_unit = reduces || (experts_->any() && experts_->is_last_of_any());
  if (!by_unit && makes_at_once(lane, units)) return;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (gathers_every_pass(plan)) states.gather_ahead(*unit);
    if (reduces_from_two_buckets(plan)) states.wait_for_buffer();
    if (!by_unit || !makes_at_once(lane, {&*unit, 1})) {
      compute(lane, *unit);
      add_sums({&*unit, 1});
    }
    if (reduces) states.reduce(*unit);
  }
}

// Books what a pass computes that is not made segment by segment. Returns its time.
RankProgramBuilder::WholeTime RankProgramBuilder::book_pass(Lane& lane) {
  if (times_ == nullptr) {
    KnownShape& known = known_shape(*price_, *shape_);
    KnownShape::Pass& pass = known.passes[is_forward_ ? 0 : 1];
    if (pass.slow_down != lane.slow_down()) pass = {lane.slow_down(), pass_time(list(), lane.slow_down())};
    lane.book(pass.time);
    return {pass.time.total_ns, pass.time.of(Cause::host), known.host.most_ahead_ns};
  }
  const std::int64_t most_ahead_ns = times_->most_ahead_ns;
  if (!is_forward_)
    return {times_->both.total_ns - times_->forward_ns,
            times_->both.of(Cause::host) - times_->forward_wait_ns, most_ahead_ns};
  lane.book(times_->both);
  return {times_->forward_ns, times_->forward_wait_ns, most_ahead_ns};
}

// A part of the pass that is made, of its layers one.
RankProgramBuilder::WholeTime RankProgramBuilder::part(const PassPart& part, double slow_down) {
  const PassSegment wait = list().waits_for_host(part);
  return {part_time(list(), part, slow_down).total_ns, wait.time_ns, wait.most_ahead_ns};
}

// Makes the layers of these units as a whole, if ranks share experts. False if they must be made one by one.
bool RankProgramBuilder::makes_at_once(Lane& lane, std::span<const StateUnit> units) {
  if (!experts_->any()) return false;
  const RankStretch* stretch = experts_->next_stretch(units);
  if (stretch == nullptr) return false;
  lane.book(stretch->time);
  lane.merged_work(stretch->before_ns);
  if (stretch->collective == OpGraph::kNone) return true;
  lane.arrive(stretch->collective, Cause::expert, stretch->inside_ns + stretch->exchanged_ns);
  lane.book_inside(stretch->inside_ns, stretch->idle_ns);
  lane.merged_work(stretch->after_ns);
  return true;
}

// Makes the parts of the pass that belong to a unit.
void RankProgramBuilder::compute(Lane& lane, const StateUnit& unit) {
  list().for_each_part(unit, [&](const PassPart& part) {
    if (by_segment()) {
      for (int n = 0; n < part.times; ++n) add_segments(lane, part);
      return;
    }
    WholeTime one;
    if (part.kind == PassPart::Kind::layers) {
      std::optional<WholeTime>& known = layers_[part.layer.index()];
      if (!known) known = this->part(part, lane.slow_down());
      one = *known;
    } else {
      one = this->part(part, lane.slow_down());
    }
    lane.merged_work(part.times * one.total_ns, part.times * one.wait_ns, one.most_ahead_ns);
  });
}

void RankProgramBuilder::add_segments(Lane& lane, const PassPart& part) {
  list().for_each_segment(part, [&](const PassSegment& segment, const SegmentPlace& place) {
    if (segment.kind == PassSegment::Kind::exchange && segment.cause == Cause::expert && experts_->any()) {
      lane.arrive(experts_->next(place, lane.gpu()), segment.cause, segment.time_ns);
    } else {
      lane.add(segment, place.attention);
    }
  });
}

}  // namespace packsim
