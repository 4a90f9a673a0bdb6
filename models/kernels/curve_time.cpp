#include "models/kernels/curve_time.hpp"

#include <algorithm>
#include <cmath>

namespace packsim {
namespace {

// Sizes are integers in files; two that differ by less are one.
constexpr double kSameSize = 1e-9;

// The logarithm of the time at a size between two points.
double between(const CurvePoint& low, const CurvePoint& high, double size, const BaseTime& base) {
  const double part = std::log(size / low.size) / std::log(high.size / low.size);
  const double low_log = std::log(low.time_s);
  const double high_log = std::log(high.time_s);
  const double line = low_log + part * (high_log - low_log);
  if (!base) return line;
  const double low_base = std::log(base(low.size));
  const double bend = std::log(base(size)) - low_base - part * (std::log(base(high.size)) - low_base);
  return std::clamp(line + bend, low_log, std::max(low_log, high_log));
}

CurveTime measured_time(const KernelCurve& curve, double size, const BaseTime& base) {
  const std::vector<CurvePoint>& points = curve.points;
  const auto upper = std::ranges::lower_bound(points, size * (1 - kSameSize), {}, &CurvePoint::size);
  if (upper != points.end() && upper->size <= size * (1 + kSameSize))
    return {upper->time_s, upper->relative_error, Evidence::measured};
  if (upper == points.end() || upper == points.begin()) {
    const CurvePoint& end = upper == points.end() ? points.back() : points.front();
    return {end.time_s * base(size) / base(end.size),
            together(end.relative_error, curve.end_error * beyond_ends(curve, size)), Evidence::extrapolated};
  }
  const CurvePoint& low = *(upper - 1);
  const double gap = std::log(upper->size / low.size);
  const double part = std::log(size / low.size) / gap;
  const double noise = (1 - part) * low.relative_error + part * upper->relative_error;
  const double mean_gap =
      std::log(points.back().size / points.front().size) / static_cast<double>(points.size() - 1);
  const double wide = std::max(1.0, gap * gap / (4 * mean_gap * mean_gap));
  // left_out_rms needs three points: with two, no point between others can be left out.
  const double unknown = points.size() > 2 ? curve.quality.left_out_rms : curve.end_error * gap / 2;
  return {std::exp(between(low, *upper, size, curve.straight ? BaseTime() : base)),
          together(noise, 4 * part * (1 - part) * unknown * wide), Evidence::interpolated};
}

}  // namespace

double together(double error, double other_error) {
  return std::sqrt(error * error + other_error * other_error);
}

double together(double error, double other_error, double third_error) {
  return together(together(error, other_error), third_error);
}

double beyond_ends(const KernelCurve& curve, double size) {
  if (size > curve.points.back().size) return std::log(size / curve.points.back().size);
  if (size < curve.points.front().size) return std::log(curve.points.front().size / size);
  return 0;
}

double beyond_box(const KernelModel& model, const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < model.box.size(); ++i) {
    const KeyRange& range = model.box[i];
    double distance = 0;
    if (values[i] > range.high) distance = std::log(values[i] / range.high);
    if (values[i] < range.low) distance = std::log(range.low / values[i]);
    sum += distance * distance;
  }
  return std::sqrt(sum);
}

BaseTime growth_of(const KernelCurve& curve) {
  const double rate = curve.size_per_s.value;
  if (rate > 0) return [fixed_s = curve.fixed_s.value, rate](double size) { return fixed_s + size / rate; };
  return [first = curve.points.front().size](double size) { return std::max(first, size); };
}

double log_between(const std::vector<double>& sizes, const std::vector<double>& logs, double size,
                   const BaseTime& base) {
  const auto upper = std::ranges::lower_bound(sizes, size);
  const auto i = static_cast<std::size_t>(upper - sizes.begin());
  if (*upper == size) return logs[i];
  const CurvePoint low{.size = sizes[i - 1], .time_s = std::exp(logs[i - 1])};
  const CurvePoint high{.size = sizes[i], .time_s = std::exp(logs[i])};
  return between(low, high, size, base);
}

CurveTime curve_time(const KernelCurve& curve, double size, const BaseTime& base) {
  CurveTime time = measured_time(curve, size, base);
  if (curve.transferred) time.evidence = std::max(time.evidence, Evidence::transferred);
  return time;
}

CurveTime curve_time(const KernelCurve& curve, double size) {
  return curve_time(curve, size, growth_of(curve));
}

}  // namespace packsim
