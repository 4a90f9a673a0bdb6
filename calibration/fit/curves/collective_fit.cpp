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

KernelModel fit_model(const std::string& key, const std::vector<FitRow*>& rows) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  const std::string& op = rows.front()->row->kernel.value("op");
  Eigen::VectorXd measured_s(n);
  std::set<double> groups;
  for (Eigen::Index i = 0; i < n; ++i) {
    measured_s[i] = rows[static_cast<std::size_t>(i)]->time_s;
    groups.insert(gpus_of(*rows[static_cast<std::size_t>(i)]));
  }
  const auto times = [&](const std::vector<double>& numbers) {
    Eigen::VectorXd time_s(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const FitRow& row = *rows[static_cast<std::size_t>(i)];
      time_s[i] = collective_model_s(numbers[0], numbers[1], 1 / std::max(1e-30, numbers[2]), op,
                                     gpus_of(row), row.size);
    }
    return time_s;
  };
  // Of one group size, what every GPU adds is in the fixed time.
  const std::vector<const FitRow*> all(rows.begin(), rows.end());
  const PositiveFit fit =
      fit_positive(times, measured_s, {1e-5, groups.size() > 1 ? 1e-6 : 0, 1e-11}, trust_of(all));
  KernelModel model{.key = key,
                    .library = rows.front()->row->library,
                    .numbers = named_numbers({"fixed_s", "gpu_s", "bytes_per_s"}, fit),
                    .box = {{"gpus", *groups.begin(), *groups.rbegin()}, {"bytes", INFINITY, 0}},
                    .end_error = 0,
                    .quality = {},
                    .sources = sources_of(all)};
  model.numbers[2] = as_rate("bytes_per_s", model.numbers[2]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]->residual = fit.residuals[static_cast<Eigen::Index>(i)];
    set_weight(*rows[i], fit.weights[static_cast<Eigen::Index>(i)]);
    model.box[1].low = std::min(model.box[1].low, rows[i]->size);
    model.box[1].high = std::max(model.box[1].high, rows[i]->size);
  }
  model.quality = quality_of(all);
  return model;
}

// Errors of group sizes predicted without their curves.
struct GroupErrors {
  std::vector<double> between_squares;  // from a smaller and a larger group
  std::vector<double> end_squares;      // from the nearest group and the model, an e-fold of GPUs
};

void leave_group_out(const std::vector<FitRow*>& rows, double left_out, const HardwareProfile& whole,
                     const KernelModel& model, GroupErrors& errors) {
  std::vector<FitRow> others;
  std::vector<FitRow*> other_pointers;
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

void fit_collectives(std::vector<FitRow>& rows, HardwareProfile& profile) {
  std::map<std::string, std::vector<FitRow*>> by_curve;
  std::map<std::string, std::vector<FitRow*>> by_model;
  for (FitRow& row : rows) {
    by_curve[curve_place(row.row->kernel).key].push_back(&row);
    if (row.row->kernel.value("imbalance") == "1") by_model[model_key_of(row.row->kernel)].push_back(&row);
  }
  std::vector<KernelModel> models;
  constexpr std::size_t kFewestRows = 4;
  for (auto& [key, some] : by_model) {
    if (some.size() >= kFewestRows) models.push_back(fit_model(key, some));
  }
  // The curves come after the models, so that the rows' residuals in the end are those of the curves.
  HardwareProfile curves;
  for (auto& [key, some] : by_curve) add_sorted(curves, fit_curve(key, "bytes", some));
  for (KernelModel& model : models) {
    const std::vector<FitRow*>& some = by_model[model.key];
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

void fit_overlaps(std::vector<FitRow>& rows, HardwareProfile& profile, std::vector<std::string>& notes) {
  std::map<std::string, std::vector<std::pair<FitRow*, double>>> by_model;
  for (FitRow& row : rows) {
    const KernelCase& kernel = row.row->kernel;
    const KernelTime alone = kernel_time(
        profile,
        KernelCase::of("gemm", {kernel.value("m"), kernel.value("n"), kernel.value("k"), "tn", "hot"}));
    if (alone.evidence == Evidence::missing || alone.evidence == Evidence::extrapolated) {
      notes.push_back(kernel.text() + ": its gemm alone was not measured; unused");
      continue;
    }
    by_model[kernel.text_without({"m", "n", "k", "bytes"})].emplace_back(&row,
                                                                         std::log(row.time_s / alone.time_s));
  }
  for (auto& [key, some] : by_model) {
    std::vector<double> logs;
    for (const auto& [row, log_ratio] : some) logs.push_back(log_ratio);
    const double middle = median(logs);
    KernelModel model{.key = key, .library = some.front().first->row->library};
    for (const char* side : {"m", "n", "k", "bytes"}) {
      KeyRange range{side, INFINITY, 0};
      for (const auto& [row, log_ratio] : some) {
        range.low = std::min(range.low, static_cast<double>(row->row->kernel.integer(side)));
        range.high = std::max(range.high, static_cast<double>(row->row->kernel.integer(side)));
      }
      model.box.push_back(range);
    }
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
    std::vector<const FitRow*> all;
    for (auto& [row, log_ratio] : some) {
      row->residual = mean - log_ratio;
      all.push_back(row);
    }
    model.quality = quality_of(all);
    // A factor without one of n rows is further from that row by n / (n - 1).
    model.quality.left_out_rms = n > 1 ? model.quality.rms * n / (n - 1) : 0;
    model.sources = sources_of(all);
    add_sorted(profile, std::move(model));
  }
}

void fit_curves(std::vector<FitRow>& rows, HardwareProfile& profile) {
  std::map<std::string, std::vector<FitRow*>> by_curve;
  for (FitRow& row : rows) by_curve[curve_place(row.row->kernel).key].push_back(&row);
  for (auto& [key, some] : by_curve) {
    add_sorted(profile, fit_curve(key, curve_place(some.front()->row->kernel).size_name, some));
  }
}

}  // namespace packsim
