#include "reports/terminal/report_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "files/text/printable.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/run_notes.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/texts_by_run.hpp"

namespace packsim::formats_detail {
namespace {

std::string marks_text(const Report& report) {
  std::vector<std::string> marks;
  if (report.runs.size() > 1 && baseline_run(report) != nullptr) marks.emplace_back("* the baseline");
  const auto any = [&](auto has) { return std::ranges::any_of(report.runs, has); };
  if (any(is_another_job)) marks.emplace_back("! trains another job, for the reason below");
  if (any([](const StrategyResult& run) { return !run.feasible && !run.failure; }))
    marks.emplace_back("OOM: does not fit in GPU memory");
  return marks.empty() ? "" : fmt::format("{}.", fmt::join(marks, "; "));
}

// What happened to samples and tokens of a run, empty if all were trained whole.
std::string data_changes(const StrategyResult& run) {
  std::vector<std::string> changes;
  const auto add = [&](std::int64_t n, const std::string& count, const char* what) {
    if (n > 0) changes.push_back(count + " " + what);
  };
  const auto samples = [&](std::int64_t n, const char* what) {
    add(n, grouped(n) + (n == 1 ? " sample" : " samples"), what);
  };
  samples(run.counts.split_samples, "cut into pieces that do not attend to each other");
  samples(run.counts.truncated_samples, "cut short");
  add(run.counts.truncated_tokens, token_count(run.counts.truncated_tokens) + " tokens", "cut off");
  samples(run.counts.dropped_samples, "over-long and left out");
  add(run.counts.dropped_tokens, token_count(run.counts.dropped_tokens) + " tokens", "never trained");
  samples(run.counts.own_pack_samples, "over-long and in packs of their own");
  samples(run.counts.empty_samples, "without tokens and left out");
  return fmt::format("{}", fmt::join(changes, ", "));
}

}  // namespace

std::vector<std::string> report_notes(const Report& report) {
  std::vector<std::string> notes = {marks_text(report)};
  for (const RunNote& note : run_notes(report))
    notes.push_back(printable(printable_name(note.run) + " " + note.text + "."));
  for (const auto& [text, runs] : texts_by_run(report, data_changes))
    notes.push_back(runs + ": " + text + ".");
  std::erase(notes, "");
  return notes;
}

}  // namespace packsim::formats_detail
