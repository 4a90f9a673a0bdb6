#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results/strategy_result.hpp"

namespace packsim {

/// What report.json says of one run, as far as reports are compared.
struct SavedRun {
  std::string name;
  std::optional<std::string> failure;      ///< why it was not simulated
  std::optional<std::string> differences;  ///< how its job differs from the one that was asked for
  bool feasible = true;

  struct Times {
    double gpu_days = 0;
    double gpu_days_low = 0;  ///< low to high is meant to hold nine of ten true values
    double gpu_days_high = 0;
    double wall_hours = 0;
    TimeShares shares;
  };
  std::optional<Times> times;  ///< none if the run failed, does not fit in memory or has no iteration

  bool has_time() const { return times && times->gpu_days > 0; }

  std::optional<double> abr;  ///< of the ratios of docs/metrics.md; none without iterations
  std::optional<double> cr;
  std::optional<double> pr;
  std::int64_t packs = 0;
  std::int64_t iterations = 0;
  std::int64_t trained_tokens = 0;
  std::int64_t repeated_tokens = 0;
  std::int64_t dropped_tokens = 0;
  std::int64_t truncated_tokens = 0;
  /// The values of its parallel plan as texts, "parallelism.zero_stage"; empty where the report does not say
  /// it.
  std::map<std::string, std::string> plan;
};

/// A report.json that an earlier run wrote.
struct SavedReport {
  std::string path;
  /// What the runs were made from: each value of the manifest as text, "parallelism.zero_stage" for a member
  /// of an object, and "lengths.n_tokens" and the hash of each source of the data.
  std::map<std::string, std::string> manifest;
  std::string baseline;
  std::vector<SavedRun> runs;

  const SavedRun* find(const std::string& name) const;
};

/// Reads report.json, or the report.json of a folder. Throws ScenarioError with all mistakes, and FileError
/// where it cannot be read.
SavedReport load_report(const std::string& path);

}  // namespace packsim
