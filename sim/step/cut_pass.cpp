#include "sim/step/cut_pass.hpp"

#include <utility>

namespace packsim {

void CutWork::clear() {
  time_ = {};
  pieces_ns_.assign(1, 0);
  exchanges_ns_.clear();
}

void CutWork::add(const PassSegment& segment, const RingPrice* attention, double slow_down) {
  if (segment.kind == PassSegment::Kind::exchange && segment.cause == Cause::expert) {
    exchanges_ns_.push_back(segment.time_ns);
    pieces_ns_.push_back(0);
    return;
  }
  const WorkTime time = segment_time(segment, attention, slow_down);
  time_ += time;
  pieces_ns_.back() += time.total_ns;
}

void CutWork::append(const CutWork& other) {
  time_ += other.time_;
  pieces_ns_.back() += other.pieces_ns_.front();
  pieces_ns_.insert(pieces_ns_.end(), other.pieces_ns_.begin() + 1, other.pieces_ns_.end());
  exchanges_ns_.insert(exchanges_ns_.end(), other.exchanges_ns_.begin(), other.exchanges_ns_.end());
}

// One layer of a part, or an edge of the chunk.
const CutWork& PassCutter::cut_part(const PassList& pass, const PassPart& part, double slow_down) {
  const bool is_layer = part.kind == PassPart::Kind::layers;
  CutWork& work = is_layer ? layers_[part.layer.index()] : edge_;
  if (is_layer && std::exchange(has_layer_[part.layer.index()], true)) return work;
  work.clear();
  pass.for_each_segment(part, [&](const PassSegment& segment, const SegmentPlace& place) {
    work.add(segment, place.attention, slow_down);
  });
  return work;
}

const CutWork& PassCutter::cut(const RankWork& rank, std::size_t chunk, std::size_t micro_batch,
                               bool is_forward, std::span<const StateUnit> units) {
  const MicroBatchPrice& price = *rank.micro_batches[micro_batch].price;
  const ChunkShape& shape = rank.plan_of(micro_batch).chunks[chunk];
  const PassList pass(price, shape, is_forward);
  const double slow_down = rank.slow_down(chunk, micro_batch, is_forward);
  const bool adds_gradients = !is_forward && micro_batch > 0;
  has_layer_ = {};
  work_.clear();
  for (std::size_t i = 0; i < units.size(); ++i) {
    const StateUnit& unit = units[is_forward ? i : units.size() - 1 - i];
    pass.for_each_part(unit, [&](const PassPart& part) {
      const CutWork& one = cut_part(pass, part, slow_down);
      for (int n = 0; n < part.times; ++n) work_.append(one);
    });
    if (!adds_gradients) continue;
    work_.add({.time_ns = unit.sum_ns}, nullptr, slow_down);
    if (unit.sum_wait_ns > 0 && host_wait(price, shape).lead_ns == 0)
      work_.add({.kind = PassSegment::Kind::host, .cause = Cause::host, .time_ns = unit.sum_wait_ns}, nullptr,
                slow_down);
  }
  return work_;
}

}  // namespace packsim
