#include "reports/formats/terminal_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
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
// Of a terminal of 40 lines, without those that the command adds.
constexpr std::size_t kScreenLines = 35;

using Runs = std::vector<const StrategyResult*>;

// What the marks of these runs mean.
std::string marks_text(const Report& report, const Runs& shown) {
  std::vector<std::string> marks;
  if (report.runs.size() > 1 && baseline_run(report) != nullptr) marks.emplace_back("* the baseline");
  const auto any = [&](auto has) {
    return std::ranges::any_of(shown, [&](const StrategyResult* run) { return has(*run); });
  };
  if (any(is_another_job)) marks.emplace_back("! trains another job than was asked for");
  if (any([](const StrategyResult& run) { return !run.feasible && !run.failure; }))
    marks.emplace_back("OOM: does not fit in memory");
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

// What a reader should know below the table, a sentence each and escaped: what the marks in it mean, what the
// verdict had no room for, and runs without result.
std::vector<std::string> report_notes(const Report& report, const Runs& shown,
                                      const std::vector<std::string>& left_out) {
  std::vector<std::string> notes = {marks_text(report, shown)};
  std::ranges::copy(left_out, std::back_inserter(notes));
  for (const RunNote& note : run_notes(report))
    notes.push_back(printable(printable_name(note.run) + " " + note.text + "."));
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

std::string whole_table(const Report& report, const Runs& runs, const std::vector<Column>& columns,
                        const std::string& title, const Style& style) {
  return joined_lines(runs_table(report, runs, columns, title, kLongestName, style));
}

std::string wide_tables(const Report& report, const Runs& runs, const Style& style) {
  const std::string text = whole_table(report, runs, columns(report, RunTable::comparison), "run", style);
  const std::vector<Column> use = columns(report, RunTable::use_and_cost);
  return use.empty() ? text : text + "\n" + whole_table(report, runs, use, "use and cost", style);
}

// The columns that fit.
std::string fitting_table(const Report& report, const Runs& runs, int width_columns, const Style& style) {
  const auto width = static_cast<std::size_t>(width_columns);
  const std::vector<Column> all = all_columns(report);
  const std::vector<Column> shown = fitting_columns(report, all, width);
  std::string text = joined_lines(runs_table(report, runs, shown, "run", widest_name(width), style));
  std::vector<std::string> hidden;
  const auto hide = [&](std::size_t n, const char* thing) {
    if (n > 0) hidden.push_back(counted(static_cast<std::int64_t>(n), std::string("more ") + thing));
  };
  hide(report.runs.size() - runs.size(), "run");
  hide(all.size() - shown.size(), "column");
  if (hidden.empty()) return text;
  return text + wrapped(fmt::format("{}: see --wide, --columns and --explain.", fmt::join(hidden, ", ")),
                        width_columns, 0);
}

std::string tables(const Report& report, const Runs& runs, const TerminalOptions& options, int width_columns,
                   const Style& style) {
  if (runs.empty()) return "";
  if (!options.columns.empty()) return whole_table(report, runs, options.columns, "run", style) + "\n";
  return (options.wide ? wide_tables(report, runs, style)
                       : fitting_table(report, runs, width_columns, style)) +
         "\n";
}

// What has to be read before the numbers are believed, and what is not trained.
std::string warnings(const Report& report, int width_columns, const Style& style) {
  constexpr std::string_view kWarning = "WARNING";
  std::string text;
  for (const std::string& warning : report.manifest.warnings) {
    text +=
        style.warning(kWarning) +
        wrapped(fmt::format("{} {}", kWarning, printable(warning)), width_columns, 2).substr(kWarning.size());
  }
  for (const auto& [change, runs] : texts_by_run(report, data_changes))
    text += wrapped(runs + ": " + change + ".", width_columns, 2);
  return text;
}

// Notes, each whole, as many as there is room for; the others are counted.
std::string notes(const std::vector<std::string>& notes, std::size_t most_lines, int width_columns) {
  std::string text;
  std::size_t n_left_out = 0;
  for (const std::string& note : notes) {
    const std::string lines = wrapped(note, width_columns, 2);
    const auto n_lines = static_cast<std::size_t>(std::ranges::count(lines, '\n'));
    if (n_lines > most_lines) {
      ++n_left_out;
      continue;
    }
    most_lines -= n_lines;
    text += lines;
  }
  if (n_left_out == 0) return text;
  return text + wrapped(fmt::format("--wide says more: {}.",
                                    counted(static_cast<std::int64_t>(n_left_out), "further note")),
                        width_columns, 2);
}

// How much of the table and of the notes is shown.
struct Room {
  std::size_t runs = 0;
  std::size_t note_lines = 0;
};

// All of it, or what goes with the verdict onto one screen, but always a few of both.
Room room_below(std::size_t verdict_lines, std::size_t n_runs, const TerminalOptions& options) {
  constexpr std::size_t kFewestRuns = 4;
  constexpr std::size_t kFewestNoteLines = 2;
  constexpr std::size_t kOtherLines = 6;  // titles and units, what --wide shows, and around the table
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  if (options.wide || !options.columns.empty()) return {kAll, kAll};
  const std::size_t used = verdict_lines + kOtherLines + kFewestNoteLines;
  const std::size_t runs = std::max(kFewestRuns, kScreenLines - std::min(kScreenLines, used));
  return {runs, kFewestNoteLines + (n_runs < runs ? runs - n_runs : 0)};
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
  const Room room = room_below(verdict.lines.size(), report.runs.size(), options);
  const Runs runs = foremost_runs(report, room.runs);
  const std::string below =
      warnings(report, width_columns, style) +
      notes(report_notes(report, runs, verdict.left_out), room.note_lines, width_columns);
  std::string text = joined_lines(verdict.lines) + "\n" +
                     tables(report, runs, options, width_columns, style) +
                     mixture_text(report, width_columns, options.wide) + (below.empty() ? "" : below + "\n");
  if (options.explain) text += legend(report, options, width_columns);
  if (options.wide) text += job_text(report, width_columns) + "\n" + further_tables(report, width_columns);
  text.erase(text.find_last_not_of('\n') + 1);
  return text + "\n";
}

}  // namespace packsim
