#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/steps/framework_fit.hpp"
#include "models/coverage/predict_step.hpp"

namespace packsim {

/// The kernels of a case "step model=...".
using StepKernels = std::function<std::vector<KernelUse>(const KernelCase& step)>;

/// The framework profile with which steps are predicted beside the sum of their kernels: one that
/// fit_framework_profile() makes of marked rows, or a given one. Neither: sums of kernels alone.
struct StepValidationOptions {
  /// Rows that the profile is fitted to; the others are held out. Not beside `framework`.
  std::function<bool(const Measurement&)> is_fit_row = {};
  /// Judged on every row; all count as held out.
  std::optional<FrameworkProfile> framework = {};
  /// Returns the model with the name in the case. Like `cluster` it is not used without a framework profile.
  std::function<Transformer(const std::string&)> model = {};
  Cluster cluster = {};  ///< the type of the nodes
};

/// One measured step. Errors are predicted / measured - 1.
struct StepError {
  std::string step;
  std::string library;
  std::vector<std::string> flags;
  double measured_s = 0;
  double spread = 0;  ///< relative, of the samples
  StepPrediction predicted;
  double error = 0;                                              ///< of the sum of kernels alone
  std::vector<std::pair<std::string, double>> measured_parts_s;  ///< medians
  bool fit_row = false;
  double with_framework_s = 0;  ///< this and the rest are 0 without a framework profile
  double with_framework_error = 0;
  double left_out_error = 0;                         ///< of a fit row, by a profile fitted without it
  std::optional<double> measured_memory_bytes = {};  ///< peak, where it was measured
  double with_framework_memory_bytes = 0;
  double with_framework_memory_error = 0;  ///< 0 where no peak was measured
};

struct ErrorSummary {
  int n = 0;
  double mean = 0;    ///< signed: the bias
  double median = 0;  ///< of absolute errors, as the rest
  double p90 = 0;
  double worst = 0;
  std::string worst_step;
};

/// The errors of predictions with a framework profile.
struct FrameworkSummaries {
  ErrorSummary fitted;    ///< fit rows
  ErrorSummary left_out;  ///< fit rows, each by a fit without it
  ErrorSummary held_out;  ///< the others
};

struct StepValidation {
  std::vector<StepError> rows;
  int n_incomplete = 0;  ///< rows with missing kernels, which kernels_alone leaves out
  ErrorSummary kernels_alone;
  std::optional<FrameworkProfile> framework;  ///< the fitted one, or the given one
  std::optional<FrameworkFit> framework_fit;  ///< where it was fitted
  FrameworkSummaries with_framework;          ///< of step times
  FrameworkSummaries memory;                  ///< of peak memory, rows in which it was measured
  std::vector<std::string> notes;
};

/// Predicts every step row of the measurements: as the sum of its kernels, and with a framework profile as
/// scenarios are priced. Other rows do not count. Throws what `kernels` and fit_framework_profile() throw.
StepValidation validate_steps(const HardwareProfile& profile, const Measurements& measurements,
                              const StepKernels& kernels, const StepValidationOptions& options = {});

}  // namespace packsim
