#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "models/kernels/kernel_times.hpp"
#include "models/kernels/neighbours.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

struct Gemm {
  double m = 0;
  double n = 0;
  double k = 0;
};

// The two sides that a curve holds fixed, and the one that it runs over.
struct Sides {
  std::array<double, 2> fixed = {};
  double size = 0;
  bool over_k = false;  // nt: the curve runs over k

  Gemm at(double size_value) const {
    return over_k ? Gemm{fixed[0], fixed[1], size_value} : Gemm{size_value, fixed[0], fixed[1]};
  }
};

Sides sides_of(const KernelCase& kernel) {
  const auto size = [&](std::string_view key) { return static_cast<double>(kernel.integer(key)); };
  if (kernel.value("layout") == "nt") return {{size("m"), size("n")}, size("k"), true};
  return {{size("n"), size("k")}, size("m"), false};
}

double model_s(const GemmNumbers& numbers, const Sides& sides, double size) {
  const Gemm gemm = sides.at(size);
  return gemm_model_s(numbers, gemm.m, gemm.n, gemm.k);
}

struct GemmNeighbour {
  const KernelCurve* curve = nullptr;
  Sides sides;
  double distance = 0;
  double weight = 0;
};

// The curves nearest in the logarithms of the fixed sides. A curve of the very shape does not count: it is
// what the estimate goes beyond.
std::vector<GemmNeighbour> neighbours_of(const HardwareProfile& profile, const KernelModel& model,
                                         const Sides& sides) {
  if (model.number("n_neighbours") == 0) return {};
  const std::string_view layout = key_value(model.key, "layout");
  const std::string_view cache = key_value(model.key, "cache");
  std::vector<GemmNeighbour> all;
  for (const KernelCurve* curve : profile.curves_of("gemm ")) {
    if (key_value(curve->key, "layout") != layout || key_value(curve->key, "cache") != cache) continue;
    GemmNeighbour neighbour{.curve = curve, .sides = sides};
    neighbour.sides.fixed = sides.over_k
                                ? std::array{key_number(curve->key, "m"), key_number(curve->key, "n")}
                                : std::array{key_number(curve->key, "n"), key_number(curve->key, "k")};
    const double first = std::log(neighbour.sides.fixed[0] / sides.fixed[0]);
    const double second = std::log(neighbour.sides.fixed[1] / sides.fixed[1]);
    neighbour.distance = std::sqrt(first * first + second * second);
    if (neighbour.distance > 0) all.push_back(neighbour);
  }
  keep_nearest(all, static_cast<std::size_t>(model.number("n_neighbours")));
  return all;
}

// The model, times what nearby shapes take over it; their residuals hold beyond the ends of their curves.
double corrected_s(const GemmNumbers& model, const std::vector<GemmNeighbour>& neighbours, const Sides& sides,
                   double size) {
  double log_ratio = 0;
  for (const GemmNeighbour& neighbour : neighbours) {
    const std::vector<CurvePoint>& points = neighbour.curve->points;
    const double inside = std::clamp(size, points.front().size, points.back().size);
    const BaseTime base = [&](double at) { return model_s(model, neighbour.sides, at); };
    log_ratio +=
        neighbour.weight * std::log(curve_time(*neighbour.curve, inside, base).time_s / base(inside));
  }
  return model_s(model, sides, size) * std::exp(log_ratio);
}

// The corrected model as a curve over the sizes that the neighbours were measured at, so that time never
// falls with size; behind the last size it grows as the model does.
double neighbour_curve_s(const KernelModel& fitted, const std::vector<GemmNeighbour>& neighbours,
                         const Sides& sides, double size) {
  const GemmNumbers model = gemm_numbers(fitted);
  std::set<double> sizes;
  for (const GemmNeighbour& neighbour : neighbours) {
    for (const CurvePoint& point : neighbour.curve->points) sizes.insert(point.size);
  }
  if (sizes.empty()) return model_s(model, sides, size);
  double low_size = 0;
  double low_s = 0;
  for (const double at : sizes) {
    const double time_s = std::max(low_s, corrected_s(model, neighbours, sides, at));
    if (at >= size) {
      if (low_size == 0 || at == size)
        return time_s * model_s(model, sides, size) / model_s(model, sides, at);
      const double part = std::log(size / low_size) / std::log(at / low_size);
      return std::exp((1 - part) * std::log(low_s) + part * std::log(time_s));
    }
    low_size = at;
    low_s = time_s;
  }
  return low_s * model_s(model, sides, size) / model_s(model, sides, low_size);
}

// What leaving shapes out showed; further from the nearest shape than those were, more, up to what the model
// misses by itself.
double shape_error(const KernelModel& model, const std::vector<GemmNeighbour>& neighbours) {
  const double left_out = model.quality.left_out_rms > 0 ? model.quality.left_out_rms : model.quality.rms;
  if (neighbours.empty()) return std::max(left_out, model.quality.rms);
  const double tried = std::max(1e-3, model.number("neighbour_distance"));
  return std::min(left_out * std::max(1.0, neighbours.front().distance / tried),
                  std::max(left_out, model.quality.rms));
}

double outside_of(const KernelModel& model, const Sides& sides) {
  const Gemm gemm = sides.at(sides.size);
  return beyond_box(model, {gemm.m, gemm.n, gemm.k});
}

KernelTime shape_time(const HardwareProfile& profile, const KernelModel& model, const Sides& sides) {
  const std::vector<GemmNeighbour> neighbours = neighbours_of(profile, model, sides);
  const double outside = outside_of(model, sides);
  return {
      .time_s = neighbour_curve_s(model, neighbours, sides, sides.size),
      .relative_error = together(shape_error(model, neighbours), model.end_error * outside),
      .standing = outside > 0 ? Standing::extrapolated : Standing::interpolated,
      .basis = "model of " + model.key + (neighbours.empty() ? "" : " with the nearest shapes' residuals")};
}

// A size beyond the end of the shape's own curve: the curve goes on as the shapes around it do.
KernelTime beyond_curve(const HardwareProfile& profile, const KernelModel& model, const KernelCurve& curve,
                        const Sides& sides) {
  const bool above = sides.size > curve.points.back().size;
  const CurvePoint& end = above ? curve.points.back() : curve.points.front();
  const std::vector<GemmNeighbour> neighbours = neighbours_of(profile, model, sides);
  const double growth = neighbour_curve_s(model, neighbours, sides, sides.size) /
                        neighbour_curve_s(model, neighbours, sides, end.size);
  const double outside = outside_of(model, sides);
  return {.time_s = end.time_s * growth,
          .relative_error =
              together(end.relative_error, shape_error(model, neighbours), model.end_error * outside),
          .standing = outside > 0 ? Standing::extrapolated : Standing::interpolated,
          .basis = "curve " + curve.key + ", beyond its end with the model of " + model.key};
}

}  // namespace

double gemm_model_s(const GemmNumbers& numbers, double m, double n, double k) {
  const double compute_s = m * n * (2 * k * numbers.s_per_flop + numbers.s_per_output);
  const double memory_s = kBf16Bytes * (m * k + k * n + m * n) * numbers.s_per_byte;
  return numbers.launch_s + std::cbrt(compute_s * compute_s * compute_s + memory_s * memory_s * memory_s);
}

GemmNumbers gemm_numbers(const KernelModel& model) {
  return {.launch_s = model.number("launch_s"),
          .s_per_flop = 1 / model.number("flop_per_s"),
          .s_per_output = model.number("s_per_output"),
          .s_per_byte = 1 / model.number("bytes_per_s")};
}

double gemm_shape_s(const HardwareProfile& profile, const KernelModel& model, const KernelCase& kernel) {
  return shape_time(profile, model, sides_of(kernel)).time_s;
}

std::optional<KernelTime> gemm_time(const HardwareProfile& profile, const KernelCase& kernel) {
  const Sides sides = sides_of(kernel);
  const KernelModel* model = profile.model(kernel.text_without({"m", "n", "k"}));
  const KernelCurve* curve = profile.curve(curve_place(kernel).key);
  if (curve == nullptr)
    return model == nullptr ? std::nullopt : std::optional(shape_time(profile, *model, sides));
  if (model == nullptr) return told(curve_time(*curve, sides.size), "curve " + curve->key);
  if (beyond_ends(*curve, sides.size) > 0) return beyond_curve(profile, *model, *curve, sides);
  const GemmNumbers numbers = gemm_numbers(*model);
  const BaseTime base = [&](double size) {
    const Gemm gemm = sides.at(size);
    return gemm_model_s(numbers, gemm.m, gemm.n, gemm.k);
  };
  return told(curve_time(*curve, sides.size, base), "curve " + curve->key);
}

}  // namespace packsim
