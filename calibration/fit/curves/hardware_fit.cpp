#include "calibration/fit/curves/hardware_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "calibration/fit/curves/family_fits.hpp"
#include "calibration/fit/robust_least_squares.hpp"

namespace packsim {
namespace {

std::vector<std::string> source_notes(const Measurements& measurements) {
  std::set<std::string> gpus;
  for (const MeasurementSource& source : measurements.sources) gpus.insert(source.gpu);
  if (gpus.size() < 2) return {};
  return {fmt::format("sources name different GPUs: {}", fmt::join(gpus, ", "))};
}

void add_flag_notes(const std::string& family, const std::vector<FitRow>& rows,
                    std::vector<std::string>& notes) {
  for (const char* flag : {"noisy", "throttled", "host_bound", "recompiled"}) {
    std::int64_t n = 0;
    std::string first;
    for (const FitRow& row : rows) {
      if (!row.row->has_flag(flag)) continue;
      if (n++ == 0) first = row.row->kernel.text();
    }
    if (n > 0) {
      notes.push_back(family + ": " + std::to_string(n) + " of " + std::to_string(rows.size()) +
                      " rows are " + flag + ", the first of them " + first);
    }
  }
}

std::set<std::string> keys_of(const HardwareProfile& profile) {
  std::set<std::string> keys;
  for (const KernelCurve& curve : profile.curves) keys.insert("curve " + curve.key);
  for (const KernelModel& model : profile.models) keys.insert("model " + model.key);
  return keys;
}

// before: keys that the profile had when the family was fitted.
FamilySummary summary_of(const std::string& family, const FitRows& rows, const std::set<std::string>& before,
                         const HardwareProfile& profile) {
  const FitQuality quality = quality_of(rows);
  FamilySummary summary{.family = family,
                        .library = rows.front()->row->library,
                        .n_rows = quality.n_rows,
                        .n_outliers = quality.n_outliers,
                        .rms = quality.rms,
                        .max_error = quality.max_error};
  const auto mean = [&](const auto& items, const std::string& kind) {
    double squares = 0;
    double n = 0;
    for (const auto& item : items) {
      if (before.contains(kind + item.key) || item.quality.left_out_rms == 0) continue;
      const auto n_rows = static_cast<double>(item.quality.n_rows);
      squares += n_rows * item.quality.left_out_rms * item.quality.left_out_rms;
      n += n_rows;
    }
    return n > 0 ? std::sqrt(squares / n) : 0;
  };
  summary.left_out_rms = mean(profile.curves, "curve ");
  summary.left_out_shape_rms = mean(profile.models, "model ");
  for (const KernelCurve& curve : profile.curves)
    summary.n_curves += before.contains("curve " + curve.key) ? 0 : 1;
  return summary;
}

void fit_family(const std::string& family, const FitRows& rows, HardwareProfile& profile,
                std::vector<std::string>& notes) {
  const std::string kernel = family.substr(0, family.find(' '));
  if (kernel == "gemm") {
    fit_gemms(rows, profile);
  } else if (kernel == "attention") {
    fit_attention(rows, profile, notes);
  } else if (kernel == "collective") {
    fit_collectives(rows, profile);
  } else if (kernel == "overlap") {
    fit_overlaps(rows, profile, notes);
  } else {
    fit_curves(rows, profile);
  }
}

}  // namespace

void add_sorted(HardwareProfile& profile, KernelCurve curve) {
  const auto at = std::ranges::lower_bound(profile.curves, curve.key, {}, &KernelCurve::key);
  profile.curves.insert(at, std::move(curve));
}

void add_sorted(HardwareProfile& profile, KernelModel model) {
  const auto at = std::ranges::lower_bound(profile.models, model.key, {}, &KernelModel::key);
  profile.models.insert(at, std::move(model));
}

std::vector<FittedNumber> named_numbers(const std::vector<std::string>& names, const PositiveFit& fit) {
  std::vector<FittedNumber> numbers;
  for (std::size_t i = 0; i < names.size(); ++i)
    numbers.push_back({names[i], fit.values[i], fit.standard_errors[i]});
  return numbers;
}

FittedNumber as_rate(const std::string& name, const FittedNumber& time) {
  constexpr double kNoLimit = 1e30;
  if (time.value <= 1 / kNoLimit) return {name, kNoLimit, 0};
  return {name, 1 / time.value, time.standard_error / (time.value * time.value)};
}

HardwareFit fit_hardware_profile(const Measurements& measurements, const HardwareFitOptions& options) {
  ChosenRows chosen = choose_rows(measurements, options.library);
  if (chosen.by_family.empty())
    throw std::invalid_argument("expected measurements of kernels, got " +
                                std::to_string(measurements.rows.size()) + " of steps");
  HardwareFit fit;
  fit.profile.name = options.name;
  fit.profile.description = options.description;
  fit.profile.unused = std::move(chosen.unused);
  fit.notes = source_notes(measurements);
  // Overlaps are told over the gemms, which the alphabet happens to put first.
  std::set<std::string> used;
  for (auto& [family, rows] : chosen.by_family) {
    add_flag_notes(family, rows, fit.notes);
    FitRows pointers;
    for (FitRow& row : rows) pointers.push_back(&row);
    const std::set<std::string> before = keys_of(fit.profile);
    fit_family(family, pointers, fit.profile, fit.notes);
    fit.families.push_back(summary_of(family, pointers, before, fit.profile));
    for (const FitRow& row : rows) {
      used.insert(row.row->source);
      if (!is_outlier(row)) continue;
      fit.outliers.push_back({.kernel = row.row->kernel.text(),
                              .library = row.row->library,
                              .source = row.row->source,
                              .measured_s = row.time_s,
                              .fitted_s = row.time_s * std::exp(row.residual),
                              .weight = row.weight});
    }
  }
  for (const MeasurementSource& source : measurements.sources) {
    if (used.contains(source.id)) fit.profile.sources.push_back(source);
  }
  std::ranges::sort(fit.profile.sources, {}, &MeasurementSource::id);
  fit.profile.gpu = fit.profile.sources.front().gpu;
  return fit;
}

}  // namespace packsim
