#include "reports/tables/run_notes.hpp"

#include <fmt/format.h>

#include "reports/tables/conclusion.hpp"

namespace packsim::formats_detail {

std::vector<RunNote> run_notes(const Report& report) {
  std::vector<RunNote> notes;
  for (const StrategyResult& run : report.runs) {
    if (run.failure) {
      notes.push_back({run.name, "failed: " + *run.failure});
    } else if (!run.feasible) {
      notes.push_back({run.name, "does not fit in GPU memory: " + memory_excess(run)});
    } else if (!run.differences.empty()) {
      notes.push_back(
          {run.name, fmt::format("is not compared with the others: {}", fmt::join(run.differences, "; "))});
    }
  }
  return notes;
}

}  // namespace packsim::formats_detail
