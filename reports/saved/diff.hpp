#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/saved/explain.hpp"
#include "reports/saved/saved_report.hpp"

namespace packsim {

/// A value of the manifest that two reports do not share; empty where a report does not have it.
struct ChangedValue {
  std::string name;
  std::string before;
  std::string now;
};

/// A run that both reports have.
struct RunChange {
  const SavedRun* before = nullptr;
  const SavedRun* now = nullptr;
  std::optional<Explanation> explanation;  ///< none where one of them has no time

  /// GPU-days now over those before, minus one; none without times.
  std::optional<double> change_fraction() const;
};

/// What differs between two reports. It points into them.
struct ReportDiff {
  std::vector<ChangedValue> values;
  std::vector<RunChange> runs;  ///< in the order of the new report
  std::vector<const SavedRun*> removed;
  std::vector<const SavedRun*> added;
};

ReportDiff diff(const SavedReport& before, const SavedReport& now);

/// What got worse by more than a fraction: runs that take more GPU-days, that no longer have a time, or that
/// are gone; a sentence each.
std::vector<std::string> regressions(const ReportDiff& diff, double most_fraction);

std::string diff_text(const ReportDiff& diff, int width_columns);
std::string diff_json(const ReportDiff& diff);

}  // namespace packsim
