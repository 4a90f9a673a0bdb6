#include "calibration/fit/steps/validate_steps.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "calibration/fit/steps/measured_step.hpp"

namespace packsim {
namespace {

using NamedErrors = std::vector<std::pair<std::string, double>>;

ErrorSummary summary_of(const NamedErrors& errors) {
  ErrorSummary summary;
  summary.n = static_cast<int>(errors.size());
  if (errors.empty()) return summary;
  std::vector<double> sizes;
  for (const auto& [step, error] : errors) {
    summary.mean += error / static_cast<double>(errors.size());
    sizes.push_back(std::abs(error));
    if (std::abs(error) < summary.worst) continue;
    summary.worst = std::abs(error);
    summary.worst_step = step;
  }
  summary.median = median(sizes);
  std::ranges::sort(sizes);
  // The smallest error that nine of ten rows are within.
  const auto rank = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(sizes.size())));
  summary.p90 = sizes[rank - 1];
  return summary;
}

// The errors of one number, in the three groups of their summaries.
struct GroupedErrors {
  NamedErrors fitted;
  NamedErrors left_out;
  NamedErrors held_out;

  void add(const StepError& row, double error, double left_out_error) {
    (row.fit_row ? fitted : held_out).emplace_back(row.step, error);
    if (row.fit_row) left_out.emplace_back(row.step, left_out_error);
  }
  FrameworkSummaries summaries() const {
    return {summary_of(fitted), summary_of(left_out), summary_of(held_out)};
  }
};

// The step rows, marked ones or all.
Measurements steps_of(const Measurements& measurements,
                      const std::function<bool(const Measurement&)>& is_marked = {}) {
  Measurements steps{.sources = measurements.sources, .rows = {}, .skipped = {}};
  for (const Measurement& row : measurements.rows) {
    if (row.kernel.kernel() == "step" && (!is_marked || is_marked(row))) steps.rows.push_back(row);
  }
  return steps;
}

// The fit's rows are the validation's marked rows, in their order.
void add_left_out(const FrameworkFit& fit, std::vector<StepError>& rows) {
  auto fitted = fit.rows.begin();
  for (StepError& row : rows) {
    if (!row.fit_row) continue;
    row.left_out_error = fitted->left_out_s / row.measured_s - 1;
    ++fitted;
  }
}

void add_framework(const HardwareProfile& hardware, const Measurements& measurements,
                   const StepValidationOptions& options, StepValidation& validation) {
  if (options.framework) {
    validation.framework = options.framework;
  } else {
    validation.framework_fit = fit_framework_profile(steps_of(measurements, options.is_fit_row),
                                                     options.model, options.cluster, hardware);
    validation.framework = validation.framework_fit->profile;
    add_left_out(*validation.framework_fit, validation.rows);
  }
  const FrameworkFactors& factors = validation.framework->factors;
  const Measurements all = steps_of(measurements);
  const std::vector<MeasuredStep> steps = measured_steps(all, options.model, options.cluster, hardware);
  GroupedErrors times;
  GroupedErrors peaks;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepError& row = validation.rows[i];
    row.with_framework_s = steps[i].time_s(time_factors(factors), validation.framework->execution.launch_s);
    row.with_framework_error = row.with_framework_s / row.measured_s - 1;
    times.add(row, row.with_framework_error, row.left_out_error);
    row.with_framework_memory_bytes = allocated_bytes(steps[i]);
    if (!row.measured_memory_bytes) continue;
    row.with_framework_memory_error = row.with_framework_memory_bytes / *row.measured_memory_bytes - 1;
    peaks.add(row, row.with_framework_memory_error, row.with_framework_memory_error);
  }
  validation.with_framework = times.summaries();
  validation.memory = peaks.summaries();
}

// "26 of 36 steps are flagged throttled, 14 noisy: ..."; empty where none is.
std::string flags_note(const std::vector<StepError>& rows) {
  std::string note;
  for (const char* flag : {"throttled", "noisy", "recompiled"}) {
    const auto n = std::ranges::count_if(
        rows, [&](const StepError& row) { return std::ranges::find(row.flags, flag) != row.flags.end(); });
    if (n == 0) continue;
    note += note.empty() ? std::to_string(n) + " of " + std::to_string(rows.size()) + " steps are flagged "
                         : ", " + std::to_string(n) + " ";
    note += flag;
  }
  return note.empty() ? note : note + ": their clocks or times moved during the samples";
}

StepError error_of(const HardwareProfile& profile, const Measurement& row,
                   const std::vector<KernelUse>& kernels, const StepValidationOptions& options) {
  StepError error{.step = row.kernel.text(),
                  .library = row.library,
                  .flags = row.flags,
                  .measured_s = row.median_s(),
                  .spread = row.relative_spread(),
                  .predicted = predict_step(profile, kernels),
                  .measured_parts_s = {}};
  error.error = error.predicted.time_s / error.measured_s - 1;
  for (const auto& [part, samples_s] : row.parts_s)
    error.measured_parts_s.emplace_back(part, median(samples_s));
  error.fit_row = options.is_fit_row && options.is_fit_row(row);
  error.measured_memory_bytes = row.peak_memory_bytes;
  return error;
}

}  // namespace

StepValidation validate_steps(const HardwareProfile& profile, const Measurements& measurements,
                              const StepKernels& kernels, const StepValidationOptions& options) {
  StepValidation validation;
  NamedErrors alone;
  std::string mistakes;
  for (const Measurement& row : measurements.rows) {
    if (row.kernel.kernel() != "step") continue;
    std::vector<KernelUse> uses;
    try {
      uses = kernels(row.kernel);
    } catch (const std::invalid_argument& mistake) {
      mistakes +=
          (mistakes.empty() ? "" : "\n") + (row.place.empty() ? "" : row.place + ": ") + mistake.what();
      continue;
    }
    const StepError error = error_of(profile, row, uses, options);
    if (error.predicted.missing.empty()) {
      alone.emplace_back(error.step, error.error);
    } else {
      ++validation.n_incomplete;
    }
    validation.rows.push_back(error);
  }
  if (!mistakes.empty()) throw std::invalid_argument(mistakes);
  validation.kernels_alone = summary_of(alone);
  if (const std::string note = flags_note(validation.rows); !note.empty()) validation.notes.push_back(note);
  if (options.is_fit_row || options.framework) add_framework(profile, measurements, options, validation);
  return validation;
}

}  // namespace packsim
