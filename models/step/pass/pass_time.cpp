#include "models/step/pass/pass_time.hpp"

#include <cmath>

namespace packsim {

std::int64_t slowed_ns(std::int64_t time_ns, double slow_down) {
  return slow_down == 1 ? time_ns : std::llround(slow_down * static_cast<double>(time_ns));
}

WorkTime attention_time(const RingPrice& ring, Cause cause, double slow_down) {
  RingPrice slowed = ring;
  slowed.compute_ns = slowed_ns(ring.compute_ns, slow_down);
  slowed.copies_ns = slowed_ns(ring.copies_ns, slow_down);
  slowed.windowed_ns = slowed_ns(ring.windowed_ns, slow_down);
  const std::int64_t computed_ns = slowed.steps * slowed.compute_ns + slowed.windowed_ns;
  WorkTime time;
  time.add(cause, computed_ns);
  time.add(Cause::sequence, slowed.total_ns() - computed_ns);
  return time;
}

WorkTime segment_time(const PassSegment& segment, const RingPrice* attention, double slow_down) {
  if (segment.kind == PassSegment::Kind::attention)
    return attention_time(*attention, segment.cause, slow_down);
  WorkTime time;
  const bool is_computed = segment.kind == PassSegment::Kind::compute;
  time.add(segment.cause, is_computed ? slowed_ns(segment.time_ns, slow_down) : segment.time_ns);
  return time;
}

WorkTime part_time(const PassList& pass, const PassPart& part, double slow_down) {
  WorkTime time;
  if (slow_down != 1) {
    pass.for_each_segment(part, [&](const PassSegment& segment, const SegmentPlace& place) {
      time += segment_time(segment, place.attention, slow_down);
    });
    return time;
  }
  // The sums of phases are known.
  if (part.kind == PassPart::Kind::overhead) time += segment_time(pass.overhead(), nullptr);
  time += segment_time(pass.waits_for_host(part), nullptr);
  pass.for_each_phase(part, [&](const PricedPhase& phase, const SegmentPlace& place) {
    time += {phase.by_cause_ns, phase.total_ns};
    if (phase.attention) time += attention_time(*place.attention, *phase.attention);
    pass.for_each_added(part, place.phase,
                        [&](const PassSegment& segment) { time.add(segment.cause, segment.time_ns); });
  });
  return time;
}

WorkTime layer_time(const MicroBatchPrice& price, const LayerForm& form, bool is_forward, double slow_down) {
  return part_time(PassList(price, {}, is_forward), {.layer = form}, slow_down);
}

WorkTime pass_time(const PassList& pass, double slow_down) {
  WorkTime time;
  pass.for_each_part([&](const PassPart& part) { time += part_time(pass, part, slow_down) * part.times; });
  return time;
}

}  // namespace packsim
