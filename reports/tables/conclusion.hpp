#pragma once

#include <string>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// False where a run does not fit in memory or has no iterations: there is nothing to compare.
bool has_time(const StrategyResult& run);

/// The run that the others are compared with, or null where no run has the baseline's name.
const StrategyResult* baseline_run(const Report& report);

/// The run with the fewest GPU-days of those that train the job that was asked for, the first of equals, or
/// null if there is none.
const StrategyResult* fastest_run(const Report& report);

/// One sentence: who wins, by how much, and what it costs in data.
std::string conclusion(const Report& report);

/// "group 128K needs 92.1 of 80.0 GiB (12.1 GiB too much)" for the group that exceeds memory most; empty
/// where the run fits.
std::string memory_excess(const StrategyResult& run);

/// "order shuffled; last iteration repeat; padding none; over-long drop"
std::string policies(const StrategyResult& run);

}  // namespace packsim::formats_detail
