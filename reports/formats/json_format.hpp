#pragma once

#include <string>

#include "experiment/results/report.hpp"

namespace packsim {

/// Of report.json. Counts changes of its shape that a reader of older files would stumble over.
inline constexpr int kReportFormat = 3;

/// The whole report as JSON: "format" (kReportFormat), "manifest", "lengths", "baseline", "runs" and, last,
/// "timings".
///
/// Keys come in a fixed order and numbers in their shortest form that reads back the same, so reports of one
/// scenario differ in "timings" only: what was measured on this machine. A number that does not exist, such
/// as the step time of a run that does not fit in memory, is null. Bytes that are not UTF-8 become U+FFFD.
std::string to_json(const Report& report);

}  // namespace packsim
