#pragma once

#include <span>
#include <string>
#include <string_view>

#include "experiment/results/report.hpp"

namespace packsim {

/// One row of the format table.
struct ReportFormat {
  std::string_view name;
  std::string_view file_name;
  std::string_view summary;
  std::string (*render)(const Report&) = nullptr;
};

/// Every format that write_report() writes.
std::span<const ReportFormat> report_formats();

}  // namespace packsim
