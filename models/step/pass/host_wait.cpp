#include "models/step/pass/host_wait.hpp"

#include <algorithm>

#include "models/step/pass/pass_list.hpp"

namespace packsim {
namespace {

// Launches that a stream of CUDA holds; then the next launch waits.
constexpr double kQueuedLaunches = 1000;

// The host and the GPU, side by side.
struct Race {
  double lead_s = 0;    // how much later the GPU is done than the host
  double queued_s = 0;  // what a full queue takes, which is the most that it can be
  double wait_s = 0;
  double run_s = 0;
  double launched_s = 0;
  double n_launches = 0;
  bool has_waited = false;  // the host, for the GPU
  std::array<double, kNHostPlaces> wait_of_part_s = {};

  void add(const LaunchedPhases& phases) {
    run_s += phases.run_s;
    launched_s += phases.launched_s;
    n_launches += phases.n_launches;
    const double waited_s = wait_s;
    if (phases.n_waits > 0) {
      has_waited = true;
      // The host begins anew behind each wait, and is ahead by what is left of the last part.
      wait_s += std::max(0.0, phases.launched_s - phases.run_s);
      lead_s = std::max(0.0, phases.run_s - phases.launched_s) / phases.n_waits;
    } else {
      lead_s += phases.run_s - phases.launched_s;
      wait_s += std::max(0.0, -lead_s);
    }
    wait_of_part_s[phases.place] += (wait_s - waited_s) / phases.n_parts;
    // They replace as many that were queued before.
    const double n = phases.n_launches;
    if (n > 0)
      queued_s += std::min(1.0, n / kQueuedLaunches) * (kQueuedLaunches * phases.run_s / n - queued_s);
    lead_s = std::clamp(lead_s, 0.0, queued_s);
  }
};

// What a phase does from the first segment on at which the host waits.
struct WaitingEnd {
  double n_launches = 0;
  std::int64_t run_ns = 0;
  double n_waits = 0;
};

WaitingEnd waiting_end(const PricedPhase& phase) {
  WaitingEnd end;
  for (const PassSegment& segment : phase.segments) {
    end.n_waits += segment.n_host_waits;
    if (end.n_waits == 0) continue;
    end.n_launches += segment.n_kernels;
    end.run_ns += segment.time_ns;
  }
  return end;
}

// How often the host waits in a phase behind its attention.
int reads_of(const PricedPhase& phase, const SegmentPlace& place, const HostCosts& host) {
  return phase.attention && place.phase == LayerPhase::backward ? host.ring_reads : 0;
}

// Calls visit(const LaunchedPhases&) for the phases of `times` of a part's layers, one layer's phases at a
// time.
template <typename Visit>
void visit_part(const MicroBatchPrice& price, const PassList& pass, const PassPart& part, int times,
                Visit visit) {
  const HostCosts& host = price.host;
  pass.for_each_phase(part, [&](const PricedPhase& phase, const SegmentPlace& place) {
    const bool is_recomputed = place.phase == LayerPhase::recompute;
    const double per_launch_s = is_recomputed ? host.recomputed_launch_s : host.launch_s;
    std::int64_t run_ns = phase.total_ns;
    double n_kernels = phase.n_kernels;
    double beside_s = (part.kind == PassPart::Kind::layers ? host.layer_s : 0) +
                      (is_recomputed ? 0 : host.gather_s) +
                      (place.phase == LayerPhase::backward ? host.reduce_s : 0);
    if (phase.attention) {
      run_ns += place.attention->total_ns();
      n_kernels += place.attention->n_kernels;
      beside_s += host.attention_s;
    }
    const auto add = [&](double n_launches, double and_s, std::int64_t ns, double n_waits) {
      visit(LaunchedPhases{.launched_s = times * (per_launch_s * n_launches + and_s),
                           .run_s = times * 1e-9 * static_cast<double>(ns),
                           .n_launches = times * n_launches,
                           .n_waits = times * n_waits,
                           .place = place_of(part, pass.is_forward()),
                           .n_parts = part.times});
    };
    if (phase.has_host_waits) {
      const WaitingEnd end = waiting_end(phase);
      add(n_kernels - end.n_launches, beside_s, run_ns - end.run_ns, 0);
      add(end.n_launches, 0, end.run_ns, end.n_waits);
    } else {
      const bool is_read = !pass.is_forward() && part.kind == PassPart::Kind::head && host.loss_reads > 1;
      add(n_kernels, beside_s, run_ns, reads_of(phase, place, host) + (is_read ? 1 : 0));
    }
  });
}

// Calls visit(const LaunchedPhases&) for the phases of both passes. Equal layers come all at once, phase by
// phase, unless the host waits inside a layer: then each layer begins with what the one before has left.
template <typename Visit>
void for_each_launched(const MicroBatchPrice& price, const ChunkShape& chunk, Visit visit) {
  for (const bool is_forward : {true, false}) {
    const PassList pass(price, chunk, is_forward);
    pass.for_each_part([&](const PassPart& part) {
      bool waits = false;
      pass.for_each_phase(part, [&](const PricedPhase& phase, const SegmentPlace& place) {
        waits = waits || phase.has_host_waits || reads_of(phase, place, price.host) > 0;
      });
      const int at_once = waits ? 1 : part.times;
      for (int done = 0; done < part.times; done += at_once) visit_part(price, pass, part, at_once, visit);
    });
  }
}

HostWait wait_of(const Race& race, bool reads_loss) {
  HostWait wait{.wait_ns = nanoseconds(race.wait_s),
                .lead_ns = reads_loss ? 0 : nanoseconds(race.lead_s),
                .most_ahead_ns = race.has_waited ? 0 : nanoseconds(race.queued_s),
                .launched_s = race.launched_s};
  for (std::size_t i = 0; i < kNHostPlaces; ++i)
    wait.part_wait_ns[i] = static_cast<std::int64_t>(1e9 * race.wait_of_part_s[i]);
  return wait;
}

// for_each: calls what it is given with each of a micro-batch's LaunchedPhases.
template <typename ForEach>
HostWait wait_over(bool reads_loss, ForEach for_each) {
  const auto run = [&](Race race) {
    for_each([&](const LaunchedPhases& phases) { race.add(phases); });
    return race;
  };
  // The first turn shows how far the host is ahead when another begins. Where it gains in every turn, and
  // never waits, that is as far as the queue reaches.
  const Race first = run({});
  if (reads_loss) return wait_of(first, true);
  const bool is_ahead = first.run_s > first.launched_s && !first.has_waited;
  const bool fills_queue = first.n_launches >= kQueuedLaunches || first.n_launches == 0;
  const double queued_s = fills_queue ? first.queued_s : kQueuedLaunches * first.run_s / first.n_launches;
  return wait_of(run({.lead_s = is_ahead ? queued_s : first.lead_s, .queued_s = queued_s}), false);
}

}  // namespace

std::vector<LaunchedPhases> launched_phases(const MicroBatchPrice& price, const ChunkShape& chunk) {
  std::vector<LaunchedPhases> all;
  for_each_launched(price, chunk, [&](const LaunchedPhases& phases) { all.push_back(phases); });
  return all;
}

HostWait host_wait(const MicroBatchPrice& price, const ChunkShape& chunk) {
  if (price.host.launch_s <= 0) return {};
  HostWait wait =
      wait_over(price.host.loss_reads > 0, [&](auto visit) { for_each_launched(price, chunk, visit); });
  // What rounding leaves goes before the chunk.
  wait.unplaced_ns = wait.wait_ns;
  for (const bool is_forward : {true, false}) {
    const PassList pass(price, chunk, is_forward);
    pass.for_each_part([&](const PassPart& part) {
      if (part.kind != PassPart::Kind::overhead)
        wait.unplaced_ns -= part.times * wait.part_wait_ns[place_of(part, is_forward)];
    });
  }
  return wait;
}

HostWait host_wait(std::span<const LaunchedPhases> phases, bool reads_loss) {
  return wait_over(reads_loss, [&](auto visit) { std::ranges::for_each(phases, visit); });
}

}  // namespace packsim
