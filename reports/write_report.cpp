#include "reports/write_report.hpp"

#include "files/write_file.hpp"
#include "reports/formats/formats.hpp"

namespace packsim {

void write_report(const Report& report, const std::string& directory) {
  for (const ReportFormat& format : report_formats()) {
    write_file(directory, format.file_name, format.render(report));
  }
}

}  // namespace packsim
