#pragma once

#include <optional>
#include <string>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// False where a run does not fit in memory or has no iterations: there is nothing to compare.
bool has_time(const StrategyResult& run);

/// Whether the run has a time and trains the job that was asked for.
bool is_comparable(const StrategyResult& run);

/// Whether the run has a time but trains another job.
bool is_another_job(const StrategyResult& run);

/// The run that the others are compared with, or null where no run has the baseline's name.
const StrategyResult* baseline_run(const Report& report);

/// The run with the fewest GPU-days of those that are comparable, the first of equals, or null if there is
/// none. `excluded`: a run to leave out, or null.
const StrategyResult* fastest_run(const Report& report, const StrategyResult* excluded = nullptr);

/// Why a run is not compared; continues its name: "does not fit in memory".
std::string obstacle(const StrategyResult& run);

/// "92.1 of 80.0 GiB", of the memory that the group is shortest of.
std::string memory_need(const PlannedGroup& group);

/// "group 128K needs 92.1 of 80.0 GiB (12.1 GiB too much)" for the group that is shortest of memory; empty
/// where the run fits.
std::string memory_excess(const StrategyResult& run);

/// "order shuffled; last iteration repeat; padding none; over-long drop"
std::string policies(const StrategyResult& run);

}  // namespace packsim::formats_detail
