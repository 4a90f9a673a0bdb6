#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/data/chart_rows.hpp"
#include "reports/tables/memory_parts.hpp"
#include "reports/tables/shown_groups.hpp"
#include "reports/text/gpu_text.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

double gibibytes_of(double size_bytes) {
  return five_digits(size_bytes / (1024.0 * 1024 * 1024));
}

double used_fraction(const PlannedGroup& group) {
  return group.gpu_memory_bytes > 0 ? group.peak_memory_bytes / group.gpu_memory_bytes : 0;
}

}  // namespace

ChartRows memory_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const StrategyResult* run : by_gpu_days(report)) {
    if (run->groups.empty()) continue;
    const PlannedGroup& group = *std::ranges::max_element(run->groups, {}, used_fraction);
    if (group.peak_memory_bytes <= 0) continue;
    double sum_bytes = 0;
    for (const MemoryPart& part : memory_parts()) {
      const double size_bytes = part.size_bytes(group.memory);
      rows.push_back({{"run", run->name},
                      {"part", part.name},
                      {"from_gib", gibibytes_of(sum_bytes)},
                      {"to_gib", gibibytes_of(sum_bytes + size_bytes)},
                      {"gib", gibibytes_of(size_bytes)},
                      {"limit_gib", gibibytes_of(group.gpu_memory_bytes)},
                      {"fits", group.feasible},
                      {"group", fmt::format("{}, SP {}", capacity(group.capacity_tokens),
                                            sequence_text(group.sequence))},
                      {"label", memory_text(group)}});
      sum_bytes += size_bytes;
    }
  }
  return rows;
}

}  // namespace packsim::formats_detail
