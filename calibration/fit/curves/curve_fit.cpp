#include "calibration/fit/curves/curve_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibration/fit/robust_least_squares.hpp"
#include "models/kernels/curve_time.hpp"

namespace packsim {
namespace {

// No timer and no GPU repeats a kernel better: clocks step by about half a percent.
constexpr double kLeastNoise = 0.003;
// Nothing under this is called an outlier, however quiet the rest: kernels change algorithm with size.
constexpr double kLeastOutlier = 0.15;
constexpr double kOutlierScales = 5;
// What one e-fold beyond an end adds where a curve is too short to try it on itself.
constexpr double kUntriedEndError = 0.1;

// Rows of one size.
struct SizeRows {
  double size = 0;
  FitRows rows = {};
  double log_s = 0;    // mean of the rows that count
  bool usable = true;  // some row counts
};

double mean_log(const FitRows& rows) {
  double sum = 0;
  double weight = 0;
  for (const FitRow* row : rows) {
    sum += row->weight * std::log(row->time_s);
    weight += row->weight;
  }
  return weight > 0 ? sum / weight : std::log(rows.front()->time_s);
}

void renew(SizeRows& size) {
  size.usable = std::ranges::any_of(size.rows, [](const FitRow* row) { return row->weight > 0; });
  size.log_s = mean_log(size.rows);
}

std::vector<SizeRows> by_size(FitRows& rows) {
  std::ranges::stable_sort(rows, {}, &FitRow::size);
  std::vector<SizeRows> sizes;
  for (FitRow* row : rows) {
    row->weight = row->distrusted ? 0 : row->trust * row->trust;
    if (sizes.empty() || sizes.back().size != row->size) sizes.push_back({.size = row->size});
    sizes.back().rows.push_back(row);
  }
  for (SizeRows& size : sizes) renew(size);
  return sizes;
}

struct Growth {
  FittedNumber fixed_s = {"fixed_s"};
  FittedNumber size_per_s = {"size_per_s"};
  double scale = 0;  // of the logarithms' residuals
};

// time = fixed + size / rate through points [first, last).
Growth fit_growth(const std::vector<double>& sizes, const std::vector<double>& logs) {
  Growth growth;
  if (sizes.size() < 2) return growth;
  std::vector<double> measured_s;
  for (const double log_s : logs) measured_s.push_back(std::exp(log_s));
  const double slowest = (measured_s.back() - measured_s.front()) / (sizes.back() - sizes.front());
  const double at_least = 0.01 * measured_s.back() / sizes.back();
  const auto time_s = [&](const std::vector<double>& numbers, std::size_t i) {
    return numbers[0] + numbers[1] * sizes[i];
  };
  const PositiveFit fit = fit_positive(time_s, measured_s, {measured_s.front(), std::max(slowest, at_least)});
  growth.scale = fit.scale;
  growth.fixed_s.value = fit.values[0];
  growth.fixed_s.standard_error = fit.standard_errors[0];
  if (fit.values[1] > 0) {
    growth.size_per_s.value = 1 / fit.values[1];
    growth.size_per_s.standard_error = fit.standard_errors[1] / (fit.values[1] * fit.values[1]);
  }
  return growth;
}

// Three rows or more of one size agree among themselves or not.
void weigh_within(std::vector<SizeRows>& sizes) {
  std::vector<double> deviations;
  std::vector<std::pair<FitRow*, double>> all;
  for (SizeRows& size : sizes) {
    if (size.rows.size() < 3) continue;
    std::vector<double> logs;
    for (const FitRow* row : size.rows) logs.push_back(std::log(row->time_s));
    const double middle = median(logs);
    for (FitRow* row : size.rows) {
      all.emplace_back(row, std::log(row->time_s) - middle);
      deviations.push_back(std::abs(all.back().second));
    }
  }
  if (all.empty()) return;
  const double limit = std::max(kLeastOutlier, kOutlierScales * 1.4826 * median(deviations));
  for (const auto& [row, deviation] : all) {
    if (std::abs(deviation) > limit) row->weight = 0;
  }
  for (SizeRows& size : sizes) size.log_s = mean_log(size.rows);
}

// Where times follow fixed + size / rate, that tells outliers best. False where they do not.
bool weigh_by_growth(std::vector<SizeRows>& sizes) {
  constexpr std::size_t kFewestSizes = 5;
  constexpr double kFollows = 0.03;
  FitRows rows;
  for (SizeRows& size : sizes) {
    for (FitRow* row : size.rows) {
      if (row->weight > 0) rows.push_back(row);
    }
  }
  if (sizes.size() < kFewestSizes || rows.size() < kFewestSizes) return false;
  std::vector<double> at;
  std::vector<double> logs;
  for (const FitRow* row : rows) {
    at.push_back(row->size);
    logs.push_back(std::log(row->time_s));
  }
  const Growth growth = fit_growth(at, logs);
  if (growth.size_per_s.value <= 0 || growth.scale > kFollows) return false;
  const double limit = std::max(kLeastOutlier, kOutlierScales * growth.scale);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double fitted_s = growth.fixed_s.value + at[i] / growth.size_per_s.value;
    if (std::abs(logs[i] - std::log(fitted_s)) > limit) rows[i]->weight = 0;
  }
  for (SizeRows& size : sizes) renew(size);
  return true;
}

// A shape is off its model by much the same at every size; what is far off that is an outlier, and goes
// before sizes are held against their neighbours.
void weigh_over_model(std::vector<SizeRows>& sizes, const BaseTime& model) {
  constexpr std::size_t kFewestSizes = 5;
  constexpr double kFarOff = 0.3;
  if (sizes.size() < kFewestSizes) return;
  std::vector<double> ratios;
  for (const SizeRows& size : sizes) ratios.push_back(size.log_s - std::log(model(size.size)));
  const double middle = median(ratios);
  std::vector<double> deviations;
  for (const double ratio : ratios) deviations.push_back(std::abs(ratio - middle));
  const double limit = std::max(kFarOff, kOutlierScales * 1.4826 * median(deviations));
  for (SizeRows& size : sizes) {
    for (FitRow* row : size.rows) {
      if (std::abs(std::log(row->time_s / model(size.size)) - middle) > limit) row->weight = 0;
    }
    renew(size);
  }
}

// How far a value lies outside [a, b] or [b, a].
double outside(double value, double a, double b) {
  const auto [low, high] = std::minmax(a, b);
  return value > high ? value - high : std::min(0.0, value - low);
}

// How far a size's time is from all that its neighbours allow: the line between them, and the lines through
// two on either side (at an end: any slope between that line's and that of launches, 0, or of transfers, 1).
// model: what times are taken relative to.
// 0 where they disagree on the side.
double surprise(const std::vector<const SizeRows*>& sizes, std::size_t i, double value,
                const BaseTime& model) {
  const auto x = [&](std::size_t j) { return std::log(sizes[j]->size); };
  const auto trend = [&](std::size_t j) { return model ? std::log(model(sizes[j]->size)) : 0; };
  const auto y = [&](std::size_t j) { return sizes[j]->log_s - trend(j); };
  const auto line = [&](std::size_t a, std::size_t b) {
    return y(a) + (y(b) - y(a)) / (x(b) - x(a)) * (x(i) - x(a));
  };
  value -= trend(i);
  // Slopes at the ends, beside that of the line through two: over a model, none.
  const double transfer_slope = model ? 0 : 1;
  const std::size_t n = sizes.size();
  std::vector<double> distances;
  if (i >= 1 && i + 1 < n) distances.push_back(value - line(i - 1, i + 1));
  if (i >= 2) {
    const double transfers = y(i - 1) + transfer_slope * (x(i) - x(i - 1));
    const double steady = line(i - 2, i - 1);
    distances.push_back(i + 1 < n ? value - steady : outside(value, steady, transfers));
  }
  if (i + 2 < n) {
    const double launches = y(i + 1);
    const double transfers = y(i + 1) + transfer_slope * (x(i) - x(i + 1));
    const double steady = model ? line(i + 1, i + 2) : std::min(transfers, line(i + 1, i + 2));
    distances.push_back(i >= 1 ? value - line(i + 1, i + 2) : outside(value, steady, launches));
  }
  if (distances.empty()) return 0;
  double least = distances.front();
  for (const double distance : distances) {
    if (distance * least <= 0) return 0;
    if (std::abs(distance) < std::abs(least)) least = distance;
  }
  return least;
}

// Takes out sizes (or, of two rows, one) that their neighbours contradict, the worst first.
void weigh_between(std::vector<SizeRows>& sizes, const BaseTime& model) {
  while (true) {
    std::vector<const SizeRows*> usable;
    for (const SizeRows& size : sizes) {
      if (size.usable) usable.push_back(&size);
    }
    // Fewer rows do not tell which one is wrong.
    if (usable.size() < 5) return;
    std::vector<double> interpolation_errors;
    double worst = 0;
    FitRow* worst_row = nullptr;
    double worst_value = 0;
    for (std::size_t i = 0; i < usable.size(); ++i) {
      if (i >= 1 && i + 1 < usable.size())
        interpolation_errors.push_back(std::abs(surprise(usable, i, usable[i]->log_s, model)));
      for (FitRow* row : usable[i]->rows) {
        if (row->weight == 0 || usable[i]->rows.size() > 2) continue;
        worst_value = surprise(usable, i, std::log(row->time_s), model);
        if (std::abs(worst_value) > std::abs(worst)) {
          worst = worst_value;
          worst_row = row;
        }
      }
    }
    const double limit = std::max(kLeastOutlier, kOutlierScales * 1.4826 * median(interpolation_errors));
    if (std::abs(worst) <= limit) return;
    worst_row->weight = 0;
    for (SizeRows& size : sizes) renew(size);
  }
}

// Standard deviation of one row's logarithm: from rows of one size, from samples of one row, or at most what
// leaving a point out shows.
double row_noise(const std::vector<SizeRows>& sizes, double left_out_scale) {
  double squares = 0;
  double freedom = 0;
  std::vector<double> spreads;
  for (const SizeRows& size : sizes) {
    std::size_t n = 0;
    for (const FitRow* row : size.rows) {
      if (row->weight == 0) continue;
      ++n;
      squares += std::pow(std::log(row->time_s) - size.log_s, 2);
      if (row->relative_noise > 0) spreads.push_back(row->relative_noise);
    }
    if (n > 1) freedom += static_cast<double>(n - 1);
  }
  if (freedom >= 5) return std::max(kLeastNoise, std::sqrt(squares / freedom));
  const double of_samples = spreads.empty() ? 0 : median(spreads);
  const double repeated = freedom > 0 ? std::sqrt(squares / freedom) : 0;
  if (of_samples > 0 || repeated > 0) return std::max({kLeastNoise, of_samples, repeated});
  // An interpolated point carries half the variance of each neighbour: noise is at most 1/sqrt(1.5) of it.
  return std::max(kLeastNoise, left_out_scale > 0 ? left_out_scale / std::sqrt(1.5) : 0.02);
}

BaseTime base_of(const Growth& growth, double first_size) {
  KernelCurve curve{
      .points = {{.size = first_size}}, .fixed_s = growth.fixed_s, .size_per_s = growth.size_per_s};
  return growth_of(curve);
}

// What a base says beyond the last size, tried on the largest third of the points: error an e-fold.
double try_end(const PointFit& points, const FitBase& fit_base) {
  const std::size_t n = points.sizes.size();
  if (n < 4) return kUntriedEndError;
  const auto kept = static_cast<std::ptrdiff_t>(n - std::max<std::size_t>(1, n / 3));
  const BaseTime base = fit_base({points.sizes.begin(), points.sizes.begin() + kept},
                                 {points.logs.begin(), points.logs.begin() + kept});
  const auto last = static_cast<std::size_t>(kept - 1);
  std::vector<double> squares;
  for (std::size_t i = last + 1; i < n; ++i) {
    const double predicted = points.logs[last] + std::log(base(points.sizes[i]) / base(points.sizes[last]));
    squares.push_back(
        std::pow((predicted - points.logs[i]) / std::log(points.sizes[i] / points.sizes[last]), 2));
  }
  return std::max(0.01, root_mean(squares));
}

// Growth, and whether the points between follow it better than straight lines.
void describe(KernelCurve& curve, const PointFit& points, const BaseTime& model) {
  const Growth growth = fit_growth(points.sizes, points.logs);
  curve.fixed_s = growth.fixed_s;
  curve.size_per_s = growth.size_per_s;
  const FitBase fitted = [&](const std::vector<double>& sizes, const std::vector<double>& logs) {
    return model ? model : base_of(fit_growth(sizes, logs), sizes.front());
  };
  curve.end_error = try_end(points, fitted);
  const double straight_rms =
      root_mean(left_out_squares(points, [](const auto&, const auto&) { return BaseTime(); }));
  const double bent_rms = root_mean(left_out_squares(points, fitted));
  curve.straight = straight_rms < bent_rms;
  curve.quality.left_out_rms = std::min(straight_rms, bent_rms);
}

// The times of sizes whose rows are all outliers, from the usable sizes around them.
void fill_unusable(const std::vector<SizeRows>& sizes, const PointFit& usable, const BaseTime& base,
                   std::vector<double>& logs) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].usable) continue;
    const double inside = std::clamp(sizes[i].size, usable.sizes.front(), usable.sizes.back());
    logs[i] =
        log_between(usable.sizes, usable.logs, inside, base) + std::log(base(sizes[i].size) / base(inside));
  }
}

}  // namespace

double root_mean(const std::vector<double>& squares) {
  if (squares.empty()) return 0;
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0) /
                   static_cast<double>(squares.size()));
}

std::vector<double> left_out_squares(const PointFit& points, const FitBase& fit_base) {
  std::vector<double> squares;
  for (std::size_t left = 1; left + 1 < points.sizes.size(); ++left) {
    PointFit others = points;
    const auto at = static_cast<std::ptrdiff_t>(left);
    others.sizes.erase(others.sizes.begin() + at);
    others.logs.erase(others.logs.begin() + at);
    others.weights.erase(others.weights.begin() + at);
    const BaseTime base = fit_base(others.sizes, others.logs);
    const double predicted =
        log_between(others.sizes, never_falling(others.logs, others.weights), points.sizes[left], base);
    squares.push_back(std::pow(predicted - points.logs[left], 2));
  }
  return squares;
}

KernelCurve fit_curve(const std::string& key, const std::string& size_name, FitRows rows,
                      const BaseTime& model, PointFit* points) {
  KernelCurve curve{.key = key, .library = rows.front()->row->library, .size_name = size_name};
  std::vector<SizeRows> sizes = by_size(rows);
  weigh_within(sizes);
  if (model) weigh_over_model(sizes, model);
  if (model || !weigh_by_growth(sizes)) weigh_between(sizes, model);

  // Where every row was distrusted, there is nothing better than the rows.
  if (std::ranges::none_of(sizes, &SizeRows::usable)) {
    for (SizeRows& size : sizes) size.usable = true;
  }
  PointFit usable;
  std::vector<double> logs;
  std::vector<double> weights;
  for (const SizeRows& size : sizes) {
    double weight = 0;
    for (const FitRow* row : size.rows) weight += row->weight;
    logs.push_back(size.log_s);
    // An outlier alone at its size bends to its neighbours.
    weights.push_back(size.usable ? weight : 1e-9);
    if (!size.usable) continue;
    usable.sizes.push_back(size.size);
    usable.logs.push_back(size.log_s);
    usable.weights.push_back(weight);
  }
  const BaseTime base = model ? model : base_of(fit_growth(usable.sizes, usable.logs), usable.sizes.front());
  fill_unusable(sizes, usable, base, logs);
  const std::vector<double> rising = never_falling(logs, weights);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    curve.points.push_back({.size = sizes[i].size,
                            .time_s = std::exp(rising[i]),
                            .relative_error = 0,
                            .n_rows = static_cast<std::int64_t>(sizes[i].rows.size())});
    for (FitRow* row : sizes[i].rows) row->residual = rising[i] - std::log(row->time_s);
  }
  describe(curve, usable, model);

  const double left_out_rms = curve.quality.left_out_rms;
  curve.quality = quality_of(rows);
  curve.quality.left_out_rms = left_out_rms;
  curve.sources = sources_of(rows);
  const double noise = row_noise(sizes, left_out_rms);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    double n = 0;
    for (const FitRow* row : sizes[i].rows) n += row->weight > 0 ? 1 : 0;
    // A point that only its neighbours vouch for is as good as one left out.
    curve.points[i].relative_error =
        n == 0 ? together(noise, std::max(left_out_rms, 0.05))
               : together(noise * std::sqrt(1 + 1 / n), std::abs(rising[i] - logs[i]));
  }
  if (points != nullptr) *points = std::move(usable);
  return curve;
}

}  // namespace packsim
