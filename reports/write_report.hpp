#pragma once

#include <string>

#include "experiment/results/report.hpp"

namespace packsim {

/// Writes every format of report_formats() into `directory`, which is created where it is missing. Files
/// appear under their name only when they are complete, so that a full disk leaves an older report as it was.
///
/// Throws std::runtime_error with the path and the system's text where a file cannot be written.
void write_report(const Report& report, const std::string& directory);

}  // namespace packsim
