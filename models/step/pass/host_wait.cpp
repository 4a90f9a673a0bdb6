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

  void add(const LaunchedPhases& phases) {
    run_s += phases.run_s;
    launched_s += phases.launched_s;
    n_launches += phases.n_launches;
    lead_s += phases.run_s - phases.launched_s;
    wait_s += std::max(0.0, -lead_s);
    // They replace as many that were queued before.
    const double n = phases.n_launches;
    if (n > 0)
      queued_s += std::min(1.0, n / kQueuedLaunches) * (kQueuedLaunches * phases.run_s / n - queued_s);
    lead_s = std::clamp(lead_s, 0.0, queued_s);
  }
};

// Calls visit(const LaunchedPhases&) for the phases of both passes.
template <typename Visit>
void for_each_launched(const MicroBatchPrice& price, const ChunkShape& chunk, Visit visit) {
  for (const bool is_forward : {true, false}) {
    const PassList pass(price, chunk, is_forward);
    pass.for_each_part([&](const PassPart& part) {
      pass.for_each_phase(part, [&](const PricedPhase& phase, const SegmentPlace& place) {
        const bool is_recomputed = place.phase == LayerPhase::recompute;
        const double per_launch_s = is_recomputed ? price.host.recomputed_launch_s : price.host.launch_s;
        const double layer_s = part.kind == PassPart::Kind::layers ? price.host.layer_s : 0;
        std::int64_t run_ns = phase.total_ns;
        double launches_s = per_launch_s * phase.n_kernels + layer_s;
        if (phase.attention) {
          run_ns += place.attention->total_ns();
          launches_s += price.host.attention_s;
        }
        visit(LaunchedPhases{part.times * launches_s, part.times * 1e-9 * static_cast<double>(run_ns),
                             part.times * phase.n_kernels});
      });
    });
  }
}

// for_each: calls what it is given with each of a micro-batch's LaunchedPhases.
template <typename ForEach>
HostWait wait_over(ForEach for_each) {
  const auto run = [&](Race race) {
    for_each([&](const LaunchedPhases& phases) { race.add(phases); });
    return race;
  };
  // The first turn shows how far the host is ahead when another begins. Where it gains in every turn, that is
  // as far as the queue reaches.
  const Race first = run({});
  const bool is_ahead = first.run_s > first.launched_s;
  const double queued_s =
      first.n_launches < kQueuedLaunches ? kQueuedLaunches * first.run_s / first.n_launches : first.queued_s;
  const Race race = run({.lead_s = is_ahead ? queued_s : first.lead_s, .queued_s = queued_s});
  return {nanoseconds(race.wait_s), nanoseconds(race.lead_s), race.launched_s};
}

}  // namespace

std::vector<LaunchedPhases> launched_phases(const MicroBatchPrice& price, const ChunkShape& chunk) {
  std::vector<LaunchedPhases> all;
  for_each_launched(price, chunk, [&](const LaunchedPhases& phases) { all.push_back(phases); });
  return all;
}

HostWait host_wait(const MicroBatchPrice& price, const ChunkShape& chunk) {
  if (price.host.launch_s <= 0) return {};
  return wait_over([&](auto visit) { for_each_launched(price, chunk, visit); });
}

HostWait host_wait(std::span<const LaunchedPhases> phases) {
  return wait_over([&](auto visit) { std::ranges::for_each(phases, visit); });
}

}  // namespace packsim
