#pragma once

#include <string>
#include <vector>

#include "models/kernels/measurement.hpp"

namespace packsim {

/// What a file holds, and what is odd about it without being wrong.
struct MeasurementFile {
  Measurements measurements;
  std::vector<std::string> warnings;
};

/// Reads measurements, JSON lines as calibration/README.md describes them. A last line that does not end is
/// what a killed run leaves: it is ignored with a warning. Sources of one id (a run that was resumed) are
/// one.
///
/// Throws ScenarioError with every mistake, each as path:line, and FileError.
MeasurementFile read_measurements(const std::string& path);

/// Reads files of one kind of GPU as if they were one. Ids that two of them use are told apart by the file's
/// name. Complete where all are.
MeasurementFile read_measurements(const std::vector<std::string>& paths);

}  // namespace packsim
