#include "reports/formats/formats.hpp"

#include "files/write_file.hpp"
#include "reports/charts/charts_json.hpp"

namespace packsim {

std::span<const ReportFormat> report_formats() {
  static constexpr ReportFormat kFormats[] = {
      {"json", "report.json", "Everything, for programs; runs are byte-identical apart from \"timings\".",
       to_json},
      {"csv", "report.csv", "One line per run, for spreadsheets.", to_csv},
      {"html", "report.html", "One page with tables and charts, for people; needs no network.", to_html},
      {"charts", "charts.json",
       "The page's charts as Vega-Lite specs with their data, for packsim plot and Python.", to_charts_json},
  };
  return kFormats;
}

ReportFiles report_files(const Report& report, const std::function<void(std::string_view)>& starts) {
  ReportFiles files;
  for (const ReportFormat& format : report_formats()) {
    if (starts) starts(format.file_name);
    files.emplace_back(format.file_name, format.render(report));
  }
  return files;
}

void write_report(const Report& report, const std::string& directory) {
  for (const auto& [name, text] : report_files(report)) write_file(directory, name, text);
}

}  // namespace packsim
