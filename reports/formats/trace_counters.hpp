#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/formats/trace_tracks.hpp"

namespace packsim::formats_detail {

/// A value of a process's memory counter, until its next one.
struct TraceCounter {
  std::uint32_t process = 0;
  SimTime time;
  /// Bytes by part; all values of a process have the same parts. Those that it never holds are left out.
  std::vector<std::pair<std::string_view, double>> parts;
  double total_bytes = 0;
};

/// The memory of every process of a trace, in order of time, with one value for each moment. A process whose
/// lane does not run in a step has 0 in it: its GPUs are in other lanes.
std::vector<TraceCounter> memory_counters(std::span<const StrategyStep> steps, const TraceTracks& tracks);

}  // namespace packsim::formats_detail
