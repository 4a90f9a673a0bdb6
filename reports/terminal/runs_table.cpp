#include "reports/terminal/runs_table.hpp"

#include <algorithm>
#include <tuple>

#include "files/text/printable.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/text/display_width.hpp"
#include "reports/text/text_table.hpp"

namespace packsim::formats_detail {
namespace {

constexpr std::string_view kRunTitle = "run";
constexpr std::size_t kMarkColumns = 2;

std::string name_cell(const StrategyResult& run, const Report& report, std::size_t columns) {
  const bool is_baseline = run.name == report.baseline;
  const std::size_t marks =
      kMarkColumns * (static_cast<std::size_t>(is_baseline) + static_cast<std::size_t>(is_another_job(run)));
  return shortened(printable_name(run.name), columns - marks) + (is_baseline ? " *" : "") +
         (is_another_job(run) ? " !" : "");
}

std::size_t column_width(const Column& column, const Report& report) {
  std::size_t width = std::max(display_columns(column.title), display_columns(column.unit));
  for (const StrategyResult& run : report.runs) width = std::max(width, display_columns(column.text(run)));
  return width;
}

std::size_t name_width(const Report& report, std::size_t columns) {
  std::size_t width = kRunTitle.size();
  for (const StrategyResult& run : report.runs)
    width = std::max(width, display_columns(name_cell(run, report, columns)));
  return width;
}

// Whether the column says nothing of any run: all that it counts is 0 or does not exist. Runs without times,
// of which all columns of times say the same, only count if there are no others.
bool is_empty_column(const Column& column, const Report& report) {
  const bool any_has_time = std::ranges::any_of(report.runs, has_time);
  return std::ranges::all_of(report.runs, [&](const StrategyResult& run) {
    const std::string text = column.text(run);
    return text == "0" || text == "0%" || text == "-" || (any_has_time && !has_time(run));
  });
}

}  // namespace

std::size_t widest_name(std::size_t width_columns) {
  return std::max<std::size_t>(14, width_columns / 3);
}

std::vector<const StrategyResult*> sorted_runs(const Report& report) {
  std::vector<const StrategyResult*> runs;
  for (const StrategyResult& run : report.runs) runs.push_back(&run);
  std::ranges::stable_sort(runs, {}, [](const StrategyResult* run) {
    return std::tuple(!has_time(*run), !is_comparable(*run), has_time(*run) ? run->times->gpu_days : 0.0);
  });
  return runs;
}

std::vector<const StrategyResult*> foremost_runs(const Report& report, std::size_t most_runs) {
  std::vector<const StrategyResult*> runs = sorted_runs(report);
  const StrategyResult* best = fastest_run(report);
  const StrategyResult* baseline = baseline_run(report);
  for (std::size_t i = runs.size(); i > 0 && runs.size() > most_runs; --i) {
    if (runs[i - 1] != best && runs[i - 1] != baseline)
      runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  }
  return runs;
}

std::vector<Column> fitting_columns(const Report& report, std::vector<Column> columns,
                                    std::size_t width_columns) {
  std::ranges::sort(columns, {}, &Column::priority);
  std::size_t used = name_width(report, widest_name(width_columns));
  std::vector<Column> fitting;
  for (const Column& column : columns) {
    const std::size_t width = 2 + column_width(column, report);
    if (used + width > width_columns || is_empty_column(column, report)) continue;
    used += width;
    fitting.push_back(column);
  }
  return fitting;
}

std::vector<std::string> runs_table(const Report& report, const std::vector<const StrategyResult*>& runs,
                                    const std::vector<Column>& columns, const std::string& title,
                                    std::size_t name_columns, const Style& style) {
  std::vector<std::vector<std::string>> rows = {{title}, {""}};
  for (const Column& column : columns) {
    rows[0].emplace_back(column.title);
    rows[1].emplace_back(column.unit);
  }
  for (const StrategyResult* run : runs) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(name_cell(*run, report, name_columns));
    for (const Column& column : columns) row.push_back(column.text(*run));
  }
  std::vector<std::string> lines = table_lines(rows);
  lines[0] = style.bold(lines[0]);
  const StrategyResult* best = fastest_run(report);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::string& line = lines[i + 2];
    if (runs[i] == best) line = style.good(line);
    if (!has_time(*runs[i])) line = style.bad(line);
  }
  if (lines[1].empty()) lines.erase(lines.begin() + 1);
  return lines;
}

}  // namespace packsim::formats_detail
