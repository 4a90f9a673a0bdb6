#pragma once

#include <string>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// What a reader must know about a run beside its numbers.
struct RunNote {
  std::string run;         ///< name
  std::string text;        ///< continues the name: "does not fit in memory: group 128K needs ..."
  bool is_problem = true;  ///< whether the run has no result, or one that is not compared
};

/// Whether the estimate of the run's memory leaves less free than it may be off.
bool may_not_fit(const StrategyResult& run);

/// Notes concern all runs that failed, do not or may not fit in memory, train another job than was asked for,
/// or are packed anew in each epoch.
std::vector<RunNote> run_notes(const Report& report);

}  // namespace packsim::formats_detail
