#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim {

/// The format of report.json. It counts changes of its shape that a reader of older files would stumble over.
inline constexpr int kReportFormat = 3;

/// The whole report as JSON: "format" (kReportFormat), "manifest", "lengths", "baseline",
/// "verdict", "runs" and, last, "timings".
///
/// Keys come in a fixed order and numbers in their shortest form that reads back the same, so reports of one
/// scenario differ in "timings" only: what was measured on this machine. A number that does not exist, such
/// as the step time of a run that does not fit in memory, is null. Bytes that are not UTF-8 become U+FFFD.
std::string to_json(const Report& report);

/// One line per run under a header with the keys of report.json, quoted as RFC 4180 says (lines end in CR
/// LF). A number that does not exist is an empty cell. "groups" is groups_text().
std::string to_csv(const Report& report);

/// One self-contained page: summary, comparison, charts drawn by Vega-Lite in the browser, group plans, data
/// accounting, provenance and definitions. It loads nothing, prints well, and shows its tables without
/// scripts.
std::string to_html(const Report& report);

/// What a notebook shows of a report: HTML with the verdict, a comparison of the runs as wide as a terminal
/// of 100 columns, and, folded, what to know before believing it. Text from files is escaped.
std::string to_notebook_html(const Report& report);

/// One row of the format table.
struct ReportFormat {
  std::string_view name;
  std::string_view file_name;
  std::string_view summary;
  std::string (*render)(const Report&) = nullptr;
};

/// Every format of a report.
std::span<const ReportFormat> report_formats();

using ReportFiles = std::vector<std::pair<std::string, std::string>>;  ///< names, and what the files hold

/// The report in every format of report_formats(). `starts` hears the name of each file before it is made:
/// for thousands of runs, that takes seconds.
ReportFiles report_files(const Report& report, const std::function<void(std::string_view)>& starts = {});

/// Writes report_files() into `directory`, which is created where it is missing. Files appear under their
/// name only when they are complete, so that a full disk leaves an older report as it was.
///
/// Throws std::runtime_error with the path and the system's text where a file cannot be written.
void write_report(const Report& report, const std::string& directory);

}  // namespace packsim
