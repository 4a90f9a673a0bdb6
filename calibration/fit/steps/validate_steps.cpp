#include "calibration/fit/steps/validate_steps.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "calibration/fit/robust_least_squares.hpp"

namespace packsim {
namespace {

// A step row as the framework numbers see it.
struct FrameworkRow {
  std::size_t index = 0;
  double measured_s = 0;
  double kernels_s = 0;
  double n_micro_batches = 0;
};

ErrorSummary summary_of(const std::vector<std::pair<std::string, double>>& errors) {
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

double predicted_s(const std::vector<double>& numbers, const FrameworkRow& row) {
  return numbers[0] * row.kernels_s + numbers[1] * row.n_micro_batches + numbers[2];
}

// Two rows for each number that is fitted: the factor first, then the step's cost, then the micro-batch's.
std::vector<double> start_of(const std::vector<FrameworkRow>& rows) {
  std::set<double> counts;
  for (const FrameworkRow& row : rows) counts.insert(row.n_micro_batches);
  std::vector<double> start = {1, 0, 0};
  if (rows.size() >= 4) start[2] = 1e-3;
  if (rows.size() >= 6 && counts.size() > 1) start[1] = 1e-3;
  return start;
}

PositiveFit fit_rows(const std::vector<FrameworkRow>& rows) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  Eigen::VectorXd measured_s(n);
  for (Eigen::Index i = 0; i < n; ++i) measured_s[i] = rows[static_cast<std::size_t>(i)].measured_s;
  const auto model = [&](const std::vector<double>& numbers) {
    Eigen::VectorXd time_s(n);
    for (Eigen::Index i = 0; i < n; ++i) time_s[i] = predicted_s(numbers, rows[static_cast<std::size_t>(i)]);
    return time_s;
  };
  return fit_positive(model, measured_s, start_of(rows));
}

void add_framework(const std::vector<FrameworkRow>& fit_rows_in, const std::vector<FrameworkRow>& all,
                   StepValidation& validation) {
  const PositiveFit fit = fit_rows(fit_rows_in);
  validation.framework = FrameworkNumbers{{"kernel_factor", fit.values[0], fit.standard_errors[0]},
                                          {"micro_batch_s", fit.values[1], fit.standard_errors[1]},
                                          {"step_s", fit.values[2], fit.standard_errors[2]}};
  std::vector<std::pair<std::string, double>> fitted;
  std::vector<std::pair<std::string, double>> left_out;
  std::vector<std::pair<std::string, double>> held_out;
  for (const FrameworkRow& row : all) {
    StepError& error = validation.rows[row.index];
    error.with_framework_s = predicted_s(fit.values, row);
    error.with_framework_error = error.with_framework_s / row.measured_s - 1;
    (error.fit_row ? fitted : held_out).emplace_back(error.step, error.with_framework_error);
    if (!error.fit_row || fit_rows_in.size() < 2) continue;
    std::vector<FrameworkRow> others = fit_rows_in;
    std::erase_if(others, [&](const FrameworkRow& other) { return other.index == row.index; });
    error.left_out_error = predicted_s(fit_rows(others).values, row) / row.measured_s - 1;
    left_out.emplace_back(error.step, error.left_out_error);
  }
  validation.with_framework_fit = summary_of(fitted);
  validation.with_framework_left_out = summary_of(left_out);
  validation.with_framework_held_out = summary_of(held_out);
}

}  // namespace

StepValidation validate_steps(const HardwareProfile& profile, const Measurements& measurements,
                              const StepKernels& kernels, const StepValidationOptions& options) {
  StepValidation validation;
  std::vector<FrameworkRow> complete;
  std::vector<FrameworkRow> fit_rows_found;
  std::vector<std::pair<std::string, double>> alone;
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
    StepError error{.step = row.kernel.text(),
                    .library = row.library,
                    .measured_s = row.median_s(),
                    .spread = row.relative_spread(),
                    .predicted = predict_step(profile, uses),
                    .measured_parts_s = {}};
    error.error = error.predicted.time_s / error.measured_s - 1;
    for (const auto& [part, samples_s] : row.parts_s)
      error.measured_parts_s.emplace_back(part, median(samples_s));
    error.fit_row = options.is_fit_row && options.is_fit_row(row);
    for (const char* flag : {"noisy", "throttled", "recompiled"}) {
      if (row.has_flag(flag)) validation.notes.push_back(error.step + ": measured while " + flag);
    }
    const bool is_complete = error.predicted.missing.empty();
    validation.n_incomplete += is_complete ? 0 : 1;
    if (is_complete) {
      alone.emplace_back(error.step, error.error);
      complete.push_back({.index = validation.rows.size(),
                          .measured_s = error.measured_s,
                          .kernels_s = error.predicted.time_s,
                          .n_micro_batches = static_cast<double>(row.kernel.packs("packs").size())});
      if (error.fit_row) fit_rows_found.push_back(complete.back());
    }
    validation.rows.push_back(std::move(error));
  }
  if (!mistakes.empty()) throw std::invalid_argument(mistakes);
  validation.kernels_alone = summary_of(alone);
  if (options.is_fit_row && fit_rows_found.empty())
    validation.notes.push_back("no row with all its kernels is marked for the framework numbers");
  if (!fit_rows_found.empty()) add_framework(fit_rows_found, complete, validation);
  return validation;
}

}  // namespace packsim
