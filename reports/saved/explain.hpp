#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/saved/saved_report.hpp"

namespace packsim {

/// A part of the GPU time of two runs, in units of 10^-decimals GPU-days.
struct ExplainedPart {
  std::string_view name;
  std::int64_t first_units = 0;
  std::int64_t second_units = 0;
  std::int64_t change_units() const { return second_units - first_units; }
};

/// Why the second run takes more or less GPU time than the first, by what GPUs spend their time on.
///
/// All numbers are whole units. The parts of a run add up to it, and their changes to its change, to the last
/// digit: of each run's parts, those that are farthest above a whole unit are rounded up, as many as the
/// total asks for.
struct Explanation {
  const SavedRun* first = nullptr;
  const SavedRun* second = nullptr;
  int decimals = 0;
  std::int64_t first_units = 0;
  std::int64_t second_units = 0;
  std::vector<ExplainedPart> parts =
      {};  ///< the largest change first; parts that neither run has are left out
  /// What else differs between the runs, as sentences.
  std::vector<std::string> observations = {};

  double gpu_days(std::int64_t units) const;
};

/// Throws std::invalid_argument where a run is not in the report or has no times; the message names the runs
/// that have. The explanation points into the report.
Explanation explain(const SavedReport& report, const std::string& first, const std::string& second);

/// Two runs that have times, of one report or of two.
Explanation explain_runs(const SavedRun& first, const SavedRun& second);

/// The text is for people. Each part has a bar that starts where the one before it ends.
std::string explanation_text(const Explanation& explanation, int width_columns);
std::string explanation_json(const Explanation& explanation);

}  // namespace packsim
