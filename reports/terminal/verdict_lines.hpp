#pragma once

#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "reports/text/style.hpp"

namespace packsim::formats_detail {

inline constexpr std::size_t kVerdictLines = 23;

struct VerdictText {
  std::vector<std::string> lines;     ///< at most kVerdictLines
  std::vector<std::string> left_out;  ///< sentences for which these have no room
};

VerdictText verdict_text(const Report& report, std::size_t width_columns, const Style& style);

}  // namespace packsim::formats_detail
