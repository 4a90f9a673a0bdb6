#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/coverage/predict_step.hpp"

namespace packsim {

/// The kernels of a case "step model=...".
using StepKernels = std::function<std::vector<KernelUse>(const KernelCase& step)>;

struct StepValidationOptions {
  /// Rows that the framework numbers are fitted to; the others are held out. Empty: no framework numbers.
  std::function<bool(const Measurement&)> is_fit_row = {};
};

/// One measured step. Errors are predicted / measured - 1.
struct StepError {
  std::string step;
  std::string library;
  double measured_s = 0;
  double spread = 0;  ///< relative, of the samples
  StepPrediction predicted;
  double error = 0;                                              ///< of the sum of kernels alone
  std::vector<std::pair<std::string, double>> measured_parts_s;  ///< medians
  bool fit_row = false;
  double with_framework_s = 0;  ///< 0 where no framework numbers were asked for
  double with_framework_error = 0;
  double left_out_error = 0;  ///< of a fit row, by framework numbers fitted without it
};

struct ErrorSummary {
  int n = 0;
  double mean = 0;    ///< signed: the bias
  double median = 0;  ///< of absolute errors, as the rest
  double p90 = 0;
  double worst = 0;
  std::string worst_step;
};

/// What steps take beyond the sum of their kernels: kernel_factor x sum + micro_batch_s x micro-batches +
/// step_s. A number that the rows do not tell (one count of micro-batches, few rows) is 0, or 1 of the
/// factor.
struct FrameworkNumbers {
  FittedNumber kernel_factor;
  FittedNumber micro_batch_s;
  FittedNumber step_s;
};

struct StepValidation {
  std::vector<StepError> rows;
  int n_incomplete = 0;  ///< rows with missing kernels, which the summaries leave out
  ErrorSummary kernels_alone;
  std::optional<FrameworkNumbers> framework;
  ErrorSummary with_framework_fit;       ///< fit rows
  ErrorSummary with_framework_left_out;  ///< fit rows, each by a fit without it
  ErrorSummary with_framework_held_out;  ///< the others
  std::vector<std::string> notes;
};

/// Predicts every step row of the measurements. Other rows do not count. Throws what `kernels` throws.
StepValidation validate_steps(const HardwareProfile& profile, const Measurements& measurements,
                              const StepKernels& kernels, const StepValidationOptions& options = {});

}  // namespace packsim
