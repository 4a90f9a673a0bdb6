#include "reports/formats/trace_counters.hpp"

#include <algorithm>
#include <set>

namespace packsim::formats_detail {
namespace {

struct Held {
  SimTime time;
  MemoryPeak memory;
};

// Of one moment, the last value counts.
void add_held(SimTime time, const MemoryPeak& memory, std::vector<Held>& values) {
  if (!values.empty() && values.back().time == time) values.pop_back();
  values.push_back({time, memory});
}

std::vector<std::vector<Held>> held_by_process(std::span<const StrategyStep> steps,
                                               const TraceTracks& tracks) {
  std::vector<std::vector<Held>> held(tracks.processes().size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::set<std::uint32_t> seen;
    for (const TracedMemory& moment : steps[s].memory) {
      const std::optional<std::uint32_t> process = tracks.process(s, moment.lane);
      if (!process) continue;
      seen.insert(*process);
      add_held(moment.time, moment.held, held[*process]);
    }
    if (steps[s].memory.empty()) continue;  // not known in this step
    for (std::uint32_t process = 0; process < held.size(); ++process)
      if (!seen.contains(process)) add_held(steps[s].step.start, {}, held[process]);
  }
  return held;
}

std::vector<PeakPart> parts_of(const std::vector<Held>& values) {
  std::vector<PeakPart> parts;
  for (const PeakPart& part : peak_parts()) {
    if (std::ranges::any_of(values, [&](const Held& value) { return value.memory.*part.bytes != 0; }))
      parts.push_back(part);
  }
  return parts;
}

}  // namespace

std::vector<TraceCounter> memory_counters(std::span<const StrategyStep> steps, const TraceTracks& tracks) {
  std::vector<TraceCounter> counters;
  const std::vector<std::vector<Held>> held = held_by_process(steps, tracks);
  for (std::uint32_t process = 0; process < held.size(); ++process) {
    const std::vector<PeakPart> parts = parts_of(held[process]);
    for (const Held& value : held[process]) {
      TraceCounter& counter = counters.emplace_back();
      counter.process = process;
      counter.time = value.time;
      counter.total_bytes = value.memory.total_bytes();
      for (const PeakPart& part : parts) counter.parts.emplace_back(part.name, value.memory.*part.bytes);
    }
  }
  return counters;
}

}  // namespace packsim::formats_detail
