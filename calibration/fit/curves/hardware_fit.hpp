#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/kernels/hardware_profile.hpp"

namespace packsim {

struct HardwareFitOptions {
  std::string name = "unnamed";
  std::string description = {};
  std::map<std::string, std::string> library = {};  ///< by family or kernel; else the one with the most rows
};

/// A row that does not agree with the others: it has no or little weight.
struct FitOutlier {
  std::string kernel;
  std::string library;
  std::string source;
  double measured_s = 0;
  double fitted_s = 0;
  double weight = 0;
};

struct FamilySummary {
  std::string family;
  std::string library;
  std::int64_t n_rows = 0;
  std::int64_t n_outliers = 0;
  std::int64_t n_curves = 0;
  double rms = 0;                 ///< of the rows, logarithm of fitted over measured, outliers left out
  double left_out_rms = 0;        ///< of sizes of curves, each predicted without it (attention: lengths)
  double left_out_shape_rms = 0;  ///< of whole shapes or groups (gemm, attention, collective); 0: none tried
  double max_error = 0;
};

struct HardwareFit {
  HardwareProfile profile;
  std::vector<FitOutlier> outliers;
  std::vector<std::string> notes;  ///< noisy or throttled rows, what could not be fitted
  std::vector<FamilySummary> families;
};

/// Fits the measurements of one kind of GPU. Steps are left out: they are what a profile is checked with.
///
/// Throws std::invalid_argument where there is nothing to fit, and for unknown families and libraries.
HardwareFit fit_hardware_profile(const Measurements& measurements, const HardwareFitOptions& options = {});

}  // namespace packsim
