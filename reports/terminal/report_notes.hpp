#pragma once

#include <string>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// What a reader must know below the table, a sentence each and escaped: what the marks in it mean, runs
/// without result, and samples and tokens that are not trained. Warnings are not included.
std::vector<std::string> report_notes(const Report& report);

}  // namespace packsim::formats_detail
