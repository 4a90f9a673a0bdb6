#include "reports/formats/terminal_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "files/text/printable.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/run_notes.hpp"
#include "reports/terminal/further_tables.hpp"
#include "reports/terminal/runs_table.hpp"
#include "reports/terminal/verdict_lines.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/style.hpp"
#include "reports/text/text_table.hpp"
#include "reports/text/texts_by_run.hpp"

namespace packsim {
namespace {

using namespace formats_detail;

constexpr int kLegendLabel_columns = 17;

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
  const auto samples = [&](std::int64_t n, const char* what) { add(n, counted(n, "sample"), what); };
  samples(run.counts.split_samples, "cut into pieces that do not attend to each other");
  samples(run.counts.truncated_samples, "cut short");
  add(run.counts.truncated_tokens, token_count(run.counts.truncated_tokens) + " tokens", "cut off");
  samples(run.counts.dropped_samples, "over-long and left out");
  add(run.counts.dropped_tokens, token_count(run.counts.dropped_tokens) + " tokens", "never trained");
  samples(run.counts.own_pack_samples, "over-long and in packs of their own");
  samples(run.counts.empty_samples, "without tokens and left out");
  return fmt::format("{}", fmt::join(changes, ", "));
}

// What a reader must know below the table, a sentence each and escaped: what the marks in it mean, runs
// without result, and samples and tokens that are not trained. Warnings are not included.
std::vector<std::string> report_notes(const Report& report) {
  std::vector<std::string> notes = {marks_text(report)};
  for (const RunNote& note : run_notes(report))
    notes.push_back(printable(printable_name(note.run) + " " + note.text + "."));
  for (const auto& [text, runs] : texts_by_run(report, data_changes))
    notes.push_back(runs + ": " + text + ".");
  std::erase(notes, "");
  return notes;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  return lines.empty() ? "" : fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::vector<Column> all_columns(const Report& report) {
  std::vector<Column> all = columns(report, RunTable::comparison);
  std::ranges::move(columns(report, RunTable::use_and_cost), std::back_inserter(all));
  return all;
}

std::string wide_tables(const Report& report, const Style& style) {
  std::string text =
      joined_lines(runs_table(report, columns(report, RunTable::comparison), "run", kLongestName, style));
  const std::vector<Column> use = columns(report, RunTable::use_and_cost);
  return use.empty()
             ? text
             : text + "\n" + joined_lines(runs_table(report, use, "use and cost", kLongestName, style));
}

std::string fitting_table(const Report& report, int width_columns, const Style& style) {
  const auto width = static_cast<std::size_t>(width_columns);
  const std::vector<Column> all = all_columns(report);
  const std::vector<Column> shown = fitting_columns(report, all, width);
  std::string text = joined_lines(runs_table(report, shown, "run", widest_name(width), style));
  const std::size_t n_hidden = all.size() - shown.size();
  if (n_hidden == 0) return text;
  return text +
         wrapped(fmt::format("{} more columns: --wide shows all, --columns chooses, --explain defines them.",
                             n_hidden),
                 width_columns, 0);
}

std::string tables(const Report& report, const TerminalOptions& options, int width_columns,
                   const Style& style) {
  if (report.runs.empty()) return "";
  if (!options.columns.empty())
    return joined_lines(runs_table(report, options.columns, "run", kLongestName, style)) + "\n";
  return (options.wide ? wide_tables(report, style) : fitting_table(report, width_columns, style)) + "\n";
}

std::string notes(const Report& report, const std::vector<std::string>& left_out, int width_columns,
                  const Style& style) {
  constexpr std::string_view kWarning = "WARNING";
  std::string text;
  for (const std::string& warning : report.manifest.warnings) {
    text +=
        style.warning(kWarning) +
        wrapped(fmt::format("{} {}", kWarning, printable(warning)), width_columns, 2).substr(kWarning.size());
  }
  for (const std::string& sentence : left_out) text += wrapped(sentence, width_columns, 2);
  for (const std::string& note : report_notes(report)) text += wrapped(note, width_columns, 2);
  return text.empty() ? "" : text + "\n";
}

std::string legend(const Report& report, const TerminalOptions& options, int width_columns) {
  std::string text =
      wrapped("0 means exactly none. k, M, B are powers of 1000; K is 1024.", width_columns, 2);
  for (const Column& column : options.columns.empty() ? all_columns(report) : options.columns)
    text += wrapped(fmt::format("{:<{}}{}", column.title, kLegendLabel_columns, column.definition),
                    width_columns, kLegendLabel_columns);
  return text + "\n";
}

}  // namespace

std::string to_terminal(const Report& report, const TerminalOptions& options) {
  const int width_columns = std::max(options.width_columns, kNarrowestTerminal_columns);
  const Style style(options.colour);
  const VerdictText verdict = verdict_text(report, static_cast<std::size_t>(width_columns), style);
  std::string text = joined_lines(verdict.lines) + "\n" + tables(report, options, width_columns, style) +
                     mixture_text(report, width_columns, options.wide) +
                     notes(report, verdict.left_out, width_columns, style);
  if (options.explain) text += legend(report, options, width_columns);
  if (options.wide) text += job_text(report, width_columns) + "\n" + further_tables(report, width_columns);
  text.erase(text.find_last_not_of('\n') + 1);
  return text + "\n";
}

}  // namespace packsim
