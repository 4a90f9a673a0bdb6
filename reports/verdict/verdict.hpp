#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/results/report.hpp"
#include "reports/tables/shown_groups.hpp"

namespace packsim {

/// A value with the interval that is meant to hold nine of ten true ones, where it is known.
struct VerdictAmount {
  double value = 0;
  std::optional<double> low = {};
  std::optional<double> high = {};
};

/// What the best run saves against the run that it is compared with, by what GPUs spend their time on.
struct VerdictSaving {
  std::string_view part;  ///< TimePart::name
  double gpu_days = 0;    ///< negative where the best run spends more
};

/// The answer of a report. Sentences end with a full stop, and names in them are shortened and escaped as
/// terminals show them (printable_name()); a text that the report has nothing to say about is empty.
struct Verdict {
  /// The best run, the fastest of those that train the job that was asked for; empty if there is none. A name
  /// as it is in the report, not escaped; so is `other`.
  std::string best;
  std::string
      other;  ///< the run that it is compared with: the baseline, or the next one; empty if there is none
  /// The run to choose: the best one or, where a simpler one cannot be told apart from it, the simplest.
  std::string advised;
  std::string decision;  ///< which run to choose and why; empty where there is no choice, or no interval
  std::string headline;  ///< the best run, and how much faster than the baseline, or why there is none
  std::string cost;      ///< GPU-days, wall time, money, and how near that is to the lower bound
  std::string why;       ///< where the best run saves time
  std::string settings;  ///< what all groups of packs have in common
  std::vector<std::string> doubts;  ///< what could change the verdict, the most important first
  std::string not_compared;         ///< the runs that no other is compared with, and why

  std::vector<ShownGroup> groups;  ///< what to set for each group of packs
  std::optional<VerdictAmount> gpu_days;
  std::optional<VerdictAmount> money;  ///< none without a price
  std::optional<double> wall_hours;
  std::optional<double> mfu_fraction;
  std::optional<double> above_bound_fraction;
  std::vector<VerdictSaving> savings;  ///< add up to the difference in GPU-days; empty without `other`
};

Verdict verdict(const Report& report);

/// What to set for each group, as a trainer names it, the titles in front. Empty if there is no best run.
std::vector<std::vector<std::string>> setting_rows(const Verdict& verdict);

}  // namespace packsim
