#include "sim/step/lane.hpp"

namespace packsim {

void Lane::begin(OpGraph& graph, std::uint32_t rank, int gpu, StepDetail detail, GroupLinks* links) {
  graph_ = &graph;
  rank_ = rank;
  gpu_ = gpu;
  detail_ = detail;
  slow_down_ = 1;
  links_ = links;
  compute_ = graph.add_stream(rank, StreamKind::compute);
  exchange_ = states_ = from_host_ = to_host_ = OpGraph::kNone;
  send_ = {OpGraph::kNone, OpGraph::kNone};
  shared_ = nullptr;
  waits_.clear();
  work_ns_ = 0;
  time_ = {};
  inside_ = {};
}

StreamId Lane::stream(StreamId& communication) {
  if (communication == OpGraph::kNone) communication = graph_->add_stream(rank_, StreamKind::communication);
  return communication;
}

void Lane::wait_for(OpId op) {
  if (op != OpGraph::kNone) waits_.push_back(op);
}

OpId Lane::computed() {
  if (!waits_.empty()) compute(0, Cause::linear);
  return graph_->last_op(compute_);
}

void Lane::compute(std::int64_t time_ns, Cause cause) {
  if (time_ns == 0 && waits_.empty()) return;
  // One cause for all lets operations merge; time() knows the causes.
  const Cause booked = detail_ == StepDetail::micro_batches ? Cause::linear : cause;
  graph_->add_work(compute_, SimTime{time_ns}, booked, waits_);
  work_ns_ += time_ns;
  waits_.clear();
}

// Ranks that compute a micro-batch together go at the pace of the slowest host.
void Lane::add_launch_wait(std::int64_t time_ns, std::int64_t most_ahead_ns) {
  if (time_ns == 0) return;
  graph_->add_launch_wait(compute_, SimTime{time_ns}, SimTime{work_ns_},
                          SimTime{shared_ == nullptr ? most_ahead_ns : 0}, waits_);
  work_ns_ += time_ns;
  waits_.clear();
}

void Lane::launch_wait(std::int64_t time_ns, std::int64_t most_ahead_ns) {
  time_.add(Cause::host, time_ns);
  add_launch_wait(time_ns, most_ahead_ns);
}

void Lane::host_reads() {
  graph_->add_launch_wait(compute_, {}, SimTime{work_ns_}, {}, waits_);
  waits_.clear();
}

void Lane::add(const PassSegment& segment, const RingPrice* attention) {
  switch (segment.kind) {
    case PassSegment::Kind::compute:
      return work(segment.time_ns, segment.cause);
    case PassSegment::Kind::attention:
      return this->attention(*attention, segment.cause);
    case PassSegment::Kind::exchange:
      return exchange(segment);
    case PassSegment::Kind::host_copy:
      return host_copy(segment.time_ns);
    case PassSegment::Kind::host:
      if (segment.cause == Cause::host) return launch_wait(segment.time_ns, segment.most_ahead_ns);
      return host(segment.time_ns, segment.cause);
  }
}

void Lane::work(std::int64_t time_ns, Cause cause) {
  const std::int64_t on_this_gpu_ns = slowed_ns(time_ns, slow_down_);
  time_.add(cause, on_this_gpu_ns);
  compute(on_this_gpu_ns, cause);
}

void Lane::host(std::int64_t time_ns, Cause cause) {
  time_.add(cause, time_ns);
  compute(time_ns, cause);
}

void Lane::host_copy(std::int64_t time_ns) {
  if (time_ns == 0) return;
  time_.add(Cause::states, time_ns);
  if (detail_ == StepDetail::micro_batches) {
    compute(time_ns, Cause::states);
    return;
  }
  waits_.assign(1, transfer(stream(exchange_), time_ns, Cause::states, {}));
  work_ns_ += time_ns;
}

void Lane::merged_work(std::int64_t time_ns, std::int64_t wait_ns, std::int64_t most_ahead_ns) {
  add_launch_wait(wait_ns, most_ahead_ns);
  compute(time_ns - wait_ns, Cause::linear);
}

OpId Lane::transfer(StreamId on, std::int64_t time_ns, Cause cause, std::span<const LinkUse> uses) {
  wait_for(graph_->last_op(compute_));
  if (shared_ != nullptr)
    return graph_->join(on, shared_->at(n_shared_++, SimTime{time_ns}, uses), cause, waits_);
  if (uses.empty()) return graph_->add_op(on, SimTime{time_ns}, cause, waits_);
  return graph_->join(on, graph_->add_collective(SimTime{time_ns}, uses), cause, waits_);
}

void Lane::share_exchanges(SharedExchanges* shared) {
  shared_ = shared;
  n_shared_ = 0;
}

void Lane::exchange(const PassSegment& segment) {
  if (segment.time_ns == 0) return;
  time_.add(segment.cause, segment.time_ns);
  if (detail_ == StepDetail::micro_batches) {
    compute(segment.time_ns, segment.cause);
    return;
  }
  const std::span<const LinkUse> uses =
      needs_links() ? links_->of_group(gpu_, segment) : std::span<const LinkUse>();
  const OpId done = transfer(stream(exchange_), segment.time_ns, segment.cause, uses);
  waits_.assign(1, done);
  work_ns_ += segment.time_ns;
}

void Lane::arrive(CollectiveId collective, Cause cause, std::int64_t own_ns) {
  wait_for(graph_->last_op(compute_));
  const OpId done = graph_->join(stream(exchange_), collective, cause, waits_);
  waits_.assign(1, done);
  work_ns_ += own_ns;
}

void Lane::book_inside(std::int64_t computed_ns, std::int64_t idle_ns) {
  inside_.computed_ns += computed_ns;
  inside_.idle_ns += idle_ns;
}

std::span<const LinkUse> Lane::ring_links(const RingPrice& ring) const {
  if (!needs_links() || ring.transfer_ns == 0) return {};
  return links_->of_ring(gpu_, ring.steps, ring.stride, static_cast<double>(ring.bytes));
}

void Lane::attention(const RingPrice& ring, Cause cause) {
  const WorkTime time = attention_time(ring, cause, slow_down_);
  time_ += time;
  const std::int64_t work_before_ns = work_ns_;
  if (ring.steps == 1 || detail_ == StepDetail::micro_batches) {
    compute(time.total_ns, cause);
    return;
  }
  for (int step = 0; step < ring.steps; ++step) {
    OpId arrived = OpGraph::kNone;
    // The next block is on its way while this one is computed with.
    if (step + 1 < ring.steps)
      arrived = transfer(stream(exchange_), ring.transfer_ns, Cause::sequence, ring_links(ring));
    compute(slowed_ns(ring.compute_ns, slow_down_), cause);
    wait_for(arrived);
  }
  if (ring.copies_ns > 0) compute(slowed_ns(ring.copies_ns, slow_down_), Cause::sequence);
  if (ring.windowed_ns > 0) compute(slowed_ns(ring.windowed_ns, slow_down_), cause);
  work_ns_ = work_before_ns + time.total_ns;
}

OpId Lane::send(const MicroBatchPrice& price, bool is_forward, int to_gpu, bool is_in_node) {
  const std::int64_t time_ns = is_in_node ? price.stage_transfer_in_node_ns : price.stage_transfer_ns;
  std::span<const LinkUse> uses;
  if (links_ != nullptr && time_ns > 0)
    uses = links_->of_transfer(gpu_, to_gpu, static_cast<double>(price.stage_transfer_bytes));
  return transfer(stream(send_[is_forward ? 0 : 1]), time_ns, Cause::pipeline, uses);
}

}  // namespace packsim
