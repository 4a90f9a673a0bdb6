#pragma once

#include <string>

#include "experiment/results/report.hpp"

namespace packsim {

/// What a notebook shows of a report: HTML with the verdict, a comparison of the runs as wide as a terminal
/// of 100 columns, and, folded, what to know before believing it. Text from files is escaped.
std::string to_notebook_html(const Report& report);

}  // namespace packsim
