#include "reports/tables/run_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {

namespace {

std::string repacking_text(const Repacking& repacking) {
  const std::string text = fmt::format(
      "is packed anew in each epoch: {} of {} packs of later epochs hold other samples than any pack "
      "before",
      grouped(repacking.new_packs), grouped(repacking.later_packs));
  return repacking.new_packs > 0 ? text : text + ", so all epochs train the same packs";
}

std::string may_not_fit_text(const StrategyResult& run) {
  const PlannedGroup& group = *std::ranges::max_element(
      run.groups, {}, [](const PlannedGroup& one) { return one.peak_memory_bytes; });
  return fmt::format("may not fit in GPU memory: group {} needs {}, and the estimate may be {:.0f} % too low",
                     capacity(group.capacity_tokens),
                     gibibytes_used(group.peak_memory_bytes, group.gpu_memory_bytes),
                     100 * group.memory_error);
}

}  // namespace

bool may_not_fit(const StrategyResult& run) {
  return run.feasible && std::ranges::any_of(run.groups, [](const PlannedGroup& group) {
           return group.verdict == MemoryVerdict::may_not_fit;
         });
}

std::vector<RunNote> run_notes(const Report& report) {
  std::vector<RunNote> notes;
  for (const StrategyResult& run : report.runs) {
    if (run.failure) {
      notes.push_back({run.name, "failed: " + *run.failure});
    } else if (!run.feasible) {
      notes.push_back({run.name, "does not fit in memory: " + memory_excess(run)});
    } else if (!run.differences.empty()) {
      notes.push_back(
          {run.name, fmt::format("is not compared with the others: {}", fmt::join(run.differences, "; "))});
    }
    if (may_not_fit(run)) notes.push_back({run.name, may_not_fit_text(run), false});
    if (run.repacking) notes.push_back({run.name, repacking_text(*run.repacking), false});
  }
  return notes;
}

}  // namespace packsim::formats_detail
