#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibration/fit/curves/curve_fit.hpp"
#include "calibration/fit/curves/family_fits.hpp"
#include "calibration/fit/robust_least_squares.hpp"
#include "models/kernels/kernel_times.hpp"

namespace packsim {
namespace {

double gpus_of(const FitRow& row) {
  return static_cast<double>(row.row->kernel.integer("gpus"));
}

// Groups whose times grow by one rule; see collective_time.cpp.
std::string model_key_of(const KernelCase& kernel) {
  const std::string start = "collective op=" + kernel.value("op");
  if (kernel.integer("nodes") == 1) return start + " nodes=1";
  return start + " gpus_per_node=" + std::to_string(kernel.integer("gpus") / kernel.integer("nodes"));
}

KernelModel fit_model(const std::string& key, const FitRows& rows) {
  const std::string& op = rows.front()->row->kernel.value("op");
  const auto time_s = [&](const std::vector<double>& numbers, std::size_t i) {
    return collective_model_s(numbers[0], numbers[1], 1 / std::max(1e-30, numbers[2]), op, gpus_of(*rows[i]),
                              rows[i]->size);
  };
  const KeyRange gpus = range_of("gpus", rows);
  // The fixed time has what every GPU adds if there is one group size only.
  const PositiveFit fit = fit_times_of(rows, time_s, {1e-5, gpus.low < gpus.high ? 1e-6 : 0, 1e-11});
  set_fitted(rows, fit.residuals, fit.weights);
  KernelModel model{.key = key,
                    .library = rows.front()->row->library,
                    .numbers = named_numbers({"fixed_s", "gpu_s", "bytes_per_s"}, fit),
                    .box = {gpus, range_of("bytes", rows)},
                    .end_error = 0,
                    .quality = quality_of(rows),
                    .sources = sources_of(rows)};
  model.numbers[2] = as_rate("bytes_per_s", model.numbers[2]);
  return model;
}

// Errors of group sizes predicted without their curves.
struct GroupErrors {
  std::vector<double> between_squares;  // from a smaller and a larger group
  std::vector<double> end_squares;      // from the nearest group and the model, an e-fold of GPUs
};

void leave_group_out(const FitRows& rows, double left_out, const HardwareProfile& whole,
                     const KernelModel& model, GroupErrors& errors) {
  std::vector<FitRow> others;
  FitRows other_pointers;
  std::set<double> groups;
  for (const FitRow* row : rows) {
    if (gpus_of(*row) == left_out) continue;
    others.push_back(*row);
    groups.insert(gpus_of(*row));
  }
  for (FitRow& row : others) other_pointers.push_back(&row);
  if (groups.empty()) return;
  HardwareProfile profile;
  for (const KernelCurve& curve : whole.curves) {
    if (key_number(curve.key, "gpus") != left_out) profile.curves.push_back(curve);
  }
  profile.models.push_back(fit_model(model.key, other_pointers));
  const bool between = left_out > *groups.begin() && left_out < *groups.rbegin();
  const double step = left_out > *groups.rbegin() ? std::log(left_out / *groups.rbegin())
                                                  : std::log(*groups.begin() / left_out);
  for (const FitRow* row : rows) {
    if (gpus_of(*row) != left_out || is_outlier(*row)) continue;
    const KernelTime time = kernel_time(profile, row->row->kernel);
    if (time.evidence == Evidence::missing) continue;
    const double error = std::log(time.time_s / row->time_s);
    if (between) {
      errors.between_squares.push_back(error * error);
    } else {
      errors.end_squares.push_back(error * error / (step * step));
    }
  }
}

}  // namespace

void fit_collectives(const FitRows& rows, HardwareProfile& profile) {
  std::map<std::string, FitRows> by_model;
  for (FitRow* row : rows) {
    if (row->row->kernel.value("imbalance") == "1") by_model[model_key_of(row->row->kernel)].push_back(row);
  }
  std::vector<KernelModel> models;
  constexpr std::size_t kFewestRows = 4;
  for (auto& [key, some] : by_model) {
    if (some.size() >= kFewestRows) models.push_back(fit_model(key, some));
  }
  // The curves come after the models, so that the rows' residuals in the end are those of the curves.
  HardwareProfile curves;
  fit_curves(rows, curves);
  for (KernelModel& model : models) {
    const FitRows& some = by_model[model.key];
    std::set<double> groups;
    for (const FitRow* row : some) groups.insert(gpus_of(*row));
    GroupErrors errors;
    for (const double left_out : groups) leave_group_out(some, left_out, curves, model, errors);
    model.quality.left_out_rms = root_mean(errors.between_squares);
    constexpr double kUntried = 0.3;  // one group size tells nothing of others
    model.end_error = errors.end_squares.empty() ? kUntried : std::max(0.02, root_mean(errors.end_squares));
    add_sorted(profile, std::move(model));
  }
  for (KernelCurve& curve : curves.curves) add_sorted(profile, std::move(curve));
}

void fit_overlaps(const FitRows& rows, HardwareProfile& profile, std::vector<std::string>& notes) {
  std::map<std::string, std::vector<std::pair<FitRow*, double>>> by_model;
  for (FitRow* row : rows) {
    const KernelCase& kernel = row->row->kernel;
    const KernelTime alone = kernel_time(
        profile,
        KernelCase::of("gemm", {kernel.value("m"), kernel.value("n"), kernel.value("k"), "tn", "hot"}));
    if (alone.evidence == Evidence::missing || alone.evidence == Evidence::extrapolated) {
      notes.push_back(kernel.text() + ": its gemm alone was not measured; unused");
      continue;
    }
    by_model[kernel.text_without({"m", "n", "k", "bytes"})].emplace_back(
        row, std::log(row->time_s / alone.time_s));
  }
  for (auto& [key, some] : by_model) {
    FitRows all;
    std::vector<double> logs;
    for (const auto& [row, log_ratio] : some) {
      all.push_back(row);
      logs.push_back(log_ratio);
    }
    const double middle = median(logs);
    KernelModel model{.key = key, .library = some.front().first->row->library};
    for (const char* side : {"m", "n", "k", "bytes"}) model.box.push_back(range_of(side, all));
    std::vector<double> deviations;
    for (const double log_ratio : logs) deviations.push_back(std::abs(log_ratio - middle));
    const double limit = std::max(0.15, 5 * 1.4826 * median(deviations));
    double sum = 0;
    double squares = 0;
    double n = 0;
    for (auto& [row, log_ratio] : some) {
      row->weight = std::abs(log_ratio - middle) > limit ? 0 : 1;
      if (row->weight == 0) continue;
      sum += log_ratio;
      squares += log_ratio * log_ratio;
      n += 1;
    }
    const double mean = sum / n;
    const double variance = n > 1 ? std::max(0.0, squares / n - mean * mean) * n / (n - 1) : 0.0025;
    model.numbers = {{"slow_down", std::exp(mean), std::exp(mean) * std::sqrt(variance / n)}};
    model.end_error = 0.05;
    for (const auto& [row, log_ratio] : some) row->residual = mean - log_ratio;
    model.quality = quality_of(all);
    // A factor without one of n rows is further from that row by n / (n - 1).
    model.quality.left_out_rms = n > 1 ? model.quality.rms * n / (n - 1) : 0;
    model.sources = sources_of(all);
    add_sorted(profile, std::move(model));
  }
}

void fit_curves(const FitRows& rows, HardwareProfile& profile) {
  for (const auto& [key, some] : by_curve(rows))
    add_sorted(profile, fit_curve(key, curve_place(some.front()->row->kernel).size_name, some));
}

}  // namespace packsim
