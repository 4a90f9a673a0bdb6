#pragma once

#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "sweep/grid.hpp"
#include "sweep/sweep_database.hpp"

namespace packsim {

/// The columns of a sweep's points: the grid's keys but for kStrategyKey, which `name` has; what became of
/// the point; and the values of its run, as in report.csv.
std::vector<PointColumn> point_columns(const Grid& grid);

/// The row of a point that was simulated. report: of its job.
PointRow simulated_row(const Grid& grid, std::size_t point, const Report& report, const StrategyResult& run);

/// The row of a point that has no run. reason: one mistake a line.
PointRow row_without_run(const Grid& grid, const JobPoint& point, const char* status,
                         const std::string& reason);

/// What became of a point, as the column `status` has it.
inline constexpr const char* kSimulated = "ok";
inline constexpr const char* kDoesNotFit = "does not fit";
inline constexpr const char* kFailed = "failed";
inline constexpr const char* kRefused = "refused";

}  // namespace packsim
