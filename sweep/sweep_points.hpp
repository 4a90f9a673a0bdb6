#pragma once

#include <string>

#include "reports/planning/planning_data.hpp"

namespace packsim {

/// The most points of a database that a page can show.
inline constexpr std::int64_t kMostPagePoints = 100'000;

/// The points of a sweep's database, which may still be running, for a planning page. Nothing is written.
///
/// Throws FileError where the machine will not read it, UnusableFileError if it is no database of a sweep,
/// and std::invalid_argument if it has no points or too many.
PlanningData read_sweep_points(const std::string& path);

}  // namespace packsim
