#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "files/text/printable.hpp"
#include "models/plan/plan_text.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim::formats_detail {
namespace {

std::int64_t untrained_tokens(const StrategyResult& run) {
  return run.counts.dropped_tokens + run.counts.truncated_tokens;
}

// A run can be fast because it leaves data out or cuts documents up; a sentence that calls it fast has to say
// so. `other`: what it is compared with, null for nothing.
std::string data_caveat(const StrategyResult& fast, const StrategyResult* other) {
  std::vector<std::string> caveats;
  const std::int64_t more_tokens = untrained_tokens(fast) - (other == nullptr ? 0 : untrained_tokens(*other));
  if (more_tokens > 0) {
    caveats.push_back(fmt::format("leaves {}{} tokens untrained", token_count(more_tokens),
                                  other == nullptr ? "" : " more"));
  }
  if (fast.counts.split_samples > (other == nullptr ? 0 : other->counts.split_samples)) {
    caveats.push_back(fmt::format("cuts {} samples into pieces", grouped(fast.counts.split_samples)));
  }
  return caveats.empty() ? "." : fmt::format(", but it {}.", fmt::join(caveats, " and "));
}

// Returns the run that lacks least memory of those that do not fit; empty if every run failed.
std::string nearest_to_fitting(const Report& report) {
  const StrategyResult* nearest = nullptr;
  for (const StrategyResult& run : report.runs) {
    const std::optional<double> excess = memory_excess_bytes(run);
    if (!excess || run.failure) continue;
    if (nearest == nullptr || *excess < *memory_excess_bytes(*nearest)) nearest = &run;
  }
  if (nearest == nullptr) return "";
  const auto largest = std::ranges::max_element(nearest->groups, {}, &PlannedGroup::peak_memory_bytes);
  return fmt::format(
      "{} comes nearest, with {}: its {}; weights, gradients and optimizer take {} GiB of it. "
      "`packsim "
      "advise` simulates what would make it fit.",
      printable_name(nearest->name), searched_plan_text(plan_of_group(nearest->plan, *largest)),
      memory_excess(*nearest),
      gibibytes(largest->memory.weights_bytes + largest->memory.gradients_bytes +
                largest->memory.optimizer_bytes));
}

}  // namespace

std::string no_best_headline(const Report& report) {
  if (report.runs.empty()) return "Nothing was compared.";
  if (std::ranges::all_of(report.runs, [](const StrategyResult& run) { return run.failure.has_value(); }))
    return "Every run failed; the reasons are below the table.";
  if (std::ranges::none_of(report.runs, &StrategyResult::feasible))
    return "No plan fits in GPU memory. " + nearest_to_fitting(report);
  const auto first = std::ranges::find_if(report.runs, has_time);
  if (first == report.runs.end()) return "No run has an iteration, so nothing is trained.";
  return fmt::format("There is no best plan, because no run trains the job that was asked for. {}: {}{}",
                     printable_name(first->name),
                     printable(fmt::format("{}", fmt::join(first->differences, "; "))),
                     report.runs.size() == 1 ? "." : "; the reasons of the others are below the table.");
}

std::string best_headline(const Report& report, const StrategyResult& best) {
  const std::string name = printable_name(best.name);
  const StrategyResult* baseline = baseline_run(report);
  if (report.runs.size() == 1) return name + data_caveat(best, nullptr);
  if (baseline == nullptr) return name + ", the fastest run" + data_caveat(best, nullptr);
  const std::string baseline_name = printable_name(baseline->name);
  if (baseline == &best) {
    const StrategyResult* next = fastest_run(report, baseline);
    if (next == nullptr) return name + ", the only run that can be compared" + data_caveat(best, nullptr);
    return fmt::format("{}, the baseline; no other run is faster{}", name, data_caveat(best, next));
  }
  if (!is_comparable(*baseline)) {
    return fmt::format("{}, the fastest run that can be compared; the baseline {} {}{}", name, baseline_name,
                       obstacle(*baseline), data_caveat(best, nullptr));
  }
  const TimeRatio& speedup = best.speedup.value();
  return fmt::format(
      "{}, {:.2f} times as fast as the baseline {}{}{}", name, speedup.value, baseline_name,
      speedup.is_known() ? fmt::format(" (90%: {:.2f} to {:.2f})", speedup.low, speedup.high) : "",
      data_caveat(best, baseline));
}

}  // namespace packsim::formats_detail
