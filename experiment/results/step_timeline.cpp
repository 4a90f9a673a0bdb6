#include "experiment/results/step_timeline.hpp"

#include <algorithm>
#include <span>

namespace packsim {
namespace {

struct Busy {
  Activity activity = Activity::waiting;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Nanoseconds of each activity in each tick.
class Ticks {
 public:
  explicit Ticks(std::int64_t step_ns) : step_ns_(step_ns), ns_(StepTimeline::kTicks) {}

  void add(const Busy& busy) {
    for (std::int64_t tick = tick_of(busy.start_ns); tick < StepTimeline::kTicks; ++tick) {
      const std::int64_t from_ns = std::max(busy.start_ns, start_ns(tick));
      const std::int64_t to_ns = std::min(busy.end_ns, start_ns(tick + 1));
      if (from_ns >= to_ns) {
        if (start_ns(tick) >= busy.end_ns) break;
        continue;
      }
      ns_[static_cast<std::size_t>(tick)][static_cast<std::size_t>(busy.activity)] += to_ns - from_ns;
    }
  }

  std::vector<TimelineLane::Span> spans() const {
    std::vector<TimelineLane::Span> spans;
    for (int tick = 0; tick < StepTimeline::kTicks; ++tick) {
      const Activity most = most_of(tick);
      if (spans.empty() || spans.back().activity != most)
        spans.push_back({.activity = most, .first_tick = tick, .end_tick = tick});
      spans.back().end_tick = tick + 1;
    }
    return spans;
  }

 private:
  std::int64_t start_ns(std::int64_t tick) const {
    return static_cast<std::int64_t>(static_cast<double>(step_ns_) * static_cast<double>(tick) /
                                     StepTimeline::kTicks);
  }
  std::int64_t tick_of(std::int64_t time_ns) const {
    const double place = static_cast<double>(time_ns) / static_cast<double>(step_ns_);
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(place * StepTimeline::kTicks) - 1);
  }
  // What no activity covers is waiting.
  Activity most_of(int tick) const {
    auto ns = ns_[static_cast<std::size_t>(tick)];
    std::int64_t covered_ns = 0;
    for (const std::int64_t part_ns : ns) covered_ns += part_ns;
    ns[static_cast<std::size_t>(Activity::waiting)] +=
        std::max<std::int64_t>(0, start_ns(tick + 1) - start_ns(tick) - covered_ns);
    return static_cast<Activity>(std::ranges::max_element(ns) - ns.begin());
  }

  std::int64_t step_ns_;
  std::vector<std::array<std::int64_t, kNActivities>> ns_;  // [kTicks]
};

// The activity of what a lane computes at this time; passes: of the lane, in the order in which it runs them.
Activity computing(SimTime start, std::span<const TracedPass> passes) {
  const auto after = std::ranges::upper_bound(passes, start, {}, &TracedPass::start);
  if (after == passes.begin() || start >= (after - 1)->end) return Activity::update;
  return (after - 1)->is_forward ? Activity::forward : Activity::backward;
}

// The parts of transfers in which the lane computes nothing. Both: sorted by their start.
void add_exposed(std::span<const Busy> computed, std::span<const Busy> transfers, Ticks& ticks) {
  std::size_t next = 0;
  std::int64_t done_ns = 0;
  for (const Busy& transfer : transfers) {
    std::int64_t from_ns = std::max(transfer.start_ns, done_ns);
    while (next > 0 && computed[next - 1].end_ns > from_ns) --next;
    for (; next < computed.size() && computed[next].start_ns < transfer.end_ns; ++next) {
      ticks.add({transfer.activity, from_ns, std::min(computed[next].start_ns, transfer.end_ns)});
      from_ns = std::max(from_ns, computed[next].end_ns);
    }
    ticks.add({transfer.activity, from_ns, transfer.end_ns});
    done_ns = std::max(done_ns, transfer.end_ns);
  }
}

std::vector<TimelineLane::Span> spans_of(std::span<const TracedOp> ops, std::span<const TracedPass> passes,
                                         std::int64_t step_ns) {
  std::vector<Busy> computed;
  std::vector<Busy> transfers;
  for (const TracedOp& op : ops) {
    if (op.end <= op.transfer_start) continue;
    if (op.stream_kind == StreamKind::compute && op.collective == Op::kLocal) {
      computed.push_back({computing(op.start, passes), op.start.ns, op.end.ns});
    } else {
      transfers.push_back({Activity::exchange, op.transfer_start.ns, op.end.ns});
    }
  }
  std::ranges::sort(computed, {}, &Busy::start_ns);
  std::ranges::sort(transfers, {}, &Busy::start_ns);
  Ticks ticks(step_ns);
  for (const Busy& busy : computed) ticks.add(busy);
  add_exposed(computed, transfers, ticks);
  return ticks.spans();
}

// Groups the traced things by lane, in the order in which they come.
template <typename Traced>
std::vector<std::vector<Traced>> by_lane(std::span<const Traced> all, std::uint32_t Traced::*lane,
                                         std::size_t n_lanes) {
  std::vector<std::vector<Traced>> lanes(n_lanes);
  for (const Traced& each : all) lanes[each.*lane].push_back(each);
  return lanes;
}

}  // namespace

StepTimeline step_timeline(const TracedStep& step, std::size_t most_lanes) {
  StepTimeline timeline;
  timeline.step_s = to_seconds(step.end);
  timeline.n_lanes = static_cast<std::int64_t>(step.lanes.size());
  if (step.end.ns <= 0) return timeline;
  const auto ops = by_lane<TracedOp>(step.ops, &TracedOp::rank, step.lanes.size());
  auto passes = by_lane<TracedPass>(step.passes, &TracedPass::lane, step.lanes.size());
  const std::size_t n_shown = std::min(step.lanes.size(), most_lanes);
  for (std::size_t k = 0; k < n_shown; ++k) {
    const std::size_t lane = n_shown < 2 ? 0 : k * (step.lanes.size() - 1) / (n_shown - 1);
    std::ranges::sort(passes[lane], {}, &TracedPass::start);
    timeline.lanes.push_back({step.lanes[lane], spans_of(ops[lane], passes[lane], step.end.ns)});
  }
  return timeline;
}

}  // namespace packsim
