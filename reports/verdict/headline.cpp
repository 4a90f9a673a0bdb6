#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "experiment/results/misfit.hpp"
#include "files/shell_quoted.hpp"
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

// What makes the run fit that comes nearest to it.
std::string fitting_sentence(const Report& report) {
  const std::optional<FittingSearch>& search = report.fitting;
  if (!search) return " `packsim advise` simulates what would make it fit.";
  if (!search->found)
    return fmt::format(" None of {} makes {} fit by itself; `packsim advise` also simulates two together.",
                       counted(search->n_tried, "change"), printable_name(search->strategy));
  const FittingChange& change = *search->found;
  std::string settings;
  for (const std::string& setting : change.settings) settings += " --set " + printable(shell_quoted(setting));
  return fmt::format(" With {} it fits and takes {} GPU-days{}{}:{}", change.what, quantity(change.gpu_days),
                     interval_note(change.gpu_days_low, change.gpu_days_high),
                     change.trains_asked_job ? "" : ", though it trains another job than was asked for",
                     settings);
}

// How much of a GPU's memory no shorter packs would free.
std::string states_text(const PlannedGroup& group) {
  if (scarcest_memory(group).is_host) return "";
  const MemoryPeak& memory = group.memory;
  return fmt::format("; weights, gradients and optimizer take {} GiB of it",
                     gibibytes(memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes));
}

std::string nearest_text(const Report& report) {
  const StrategyResult* nearest = nearest_to_fitting(report);
  if (nearest == nullptr) return "";
  const PlannedGroup& group = *largest_misfit(*nearest);
  return fmt::format(" {} comes nearest, with {}: its {}{}.{}", printable_name(nearest->name),
                     searched_plan_text(plan_of_group(nearest->plan, group)), memory_excess(*nearest),
                     states_text(group), fitting_sentence(report));
}

}  // namespace

std::string no_best_headline(const Report& report) {
  if (report.runs.empty()) return "Nothing was compared.";
  if (std::ranges::all_of(report.runs, [](const StrategyResult& run) { return run.failure.has_value(); }))
    return "Every run failed; the reasons are below the table.";
  if (std::ranges::none_of(report.runs, &StrategyResult::feasible))
    return "No plan fits in memory." + nearest_text(report);
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
