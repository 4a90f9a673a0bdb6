#include <algorithm>
#include <cmath>
#include <set>

#include "models/kernels/gemm_shapes.hpp"
#include "models/kernels/kernel_times.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

double model_s(const GemmNumbers& numbers, const GemmSides& sides, double size) {
  const Gemm gemm = sides.at(size);
  return gemm_model_s(numbers, gemm.m, gemm.n, gemm.k);
}

// The model, times the ratio of nearby shapes' times to it. That ratio holds beyond the ends of their curves.
double corrected_s(const GemmNumbers& model, const std::vector<GemmNeighbour>& neighbours,
                   const GemmSides& sides, double size) {
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
                         const GemmSides& sides, double size) {
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

// The error that leaving shapes out showed. It grows with the distance to the nearest shape beyond that of
// those shapes, up to the error of the model by itself.
double shape_error(const KernelModel& model, const std::vector<GemmNeighbour>& neighbours) {
  const double left_out = model.quality.left_out_rms > 0 ? model.quality.left_out_rms : model.quality.rms;
  if (neighbours.empty()) return std::max(left_out, model.quality.rms);
  const double tried = std::max(1e-3, model.number("neighbour_distance"));
  return std::min(left_out * std::max(1.0, neighbours.front().distance / tried),
                  std::max(left_out, model.quality.rms));
}

double outside_of(const KernelModel& model, const GemmSides& sides) {
  const Gemm gemm = sides.at(sides.size);
  return beyond_box(model, {gemm.m, gemm.n, gemm.k});
}

Evidence evidence_of(const KernelModel& model, double outside) {
  if (model.transferred) return Evidence::transferred;
  return outside > 0 ? Evidence::extrapolated : Evidence::interpolated;
}

KernelTime shape_time(GemmShapes& shapes, const KernelModel& model, const GemmSides& sides) {
  const std::vector<GemmNeighbour>& neighbours = shapes.near(model, sides);
  const double outside = outside_of(model, sides);
  return {
      .time_s = neighbour_curve_s(model, neighbours, sides, sides.size),
      .relative_error = together(shape_error(model, neighbours), model.end_error * outside),
      .evidence = evidence_of(model, outside),
      .basis = "model of " + model.key + (neighbours.empty() ? "" : " with the nearest shapes' residuals")};
}

// A size beyond the end of the shape's own curve: the curve goes on as the shapes around it do.
KernelTime beyond_curve(GemmShapes& shapes, const KernelModel& model, const KernelCurve& curve,
                        const GemmSides& sides) {
  const bool above = sides.size > curve.points.back().size;
  const CurvePoint& end = above ? curve.points.back() : curve.points.front();
  const std::vector<GemmNeighbour>& neighbours = shapes.near(model, sides);
  const double growth = neighbour_curve_s(model, neighbours, sides, sides.size) /
                        neighbour_curve_s(model, neighbours, sides, end.size);
  const double outside = outside_of(model, sides);
  return {.time_s = end.time_s * growth,
          .relative_error =
              together(end.relative_error, shape_error(model, neighbours), model.end_error * outside),
          .evidence = evidence_of(model, outside),
          .basis = "curve " + curve.key + ", beyond its end with the model of " + model.key};
}

}  // namespace

double gemm_model_s(const GemmNumbers& numbers, double m, double n, double k, double operand_bytes) {
  const double compute_s = m * n * (2 * k * numbers.s_per_flop + numbers.s_per_output);
  const double memory_s = (operand_bytes * (m * k + k * n) + kBf16Bytes * m * n) * numbers.s_per_byte;
  return numbers.launch_s + std::cbrt(compute_s * compute_s * compute_s + memory_s * memory_s * memory_s);
}

GemmNumbers gemm_numbers(const KernelModel& model) {
  return {.launch_s = model.number("launch_s"),
          .s_per_flop = 1 / model.number("flop_per_s"),
          .s_per_output = model.number("s_per_output"),
          .s_per_byte = 1 / model.number("bytes_per_s")};
}

double gemm_shape_s(const HardwareProfile& profile, const KernelModel& model, const KernelCase& kernel) {
  GemmShapes shapes(profile);
  return shape_time(shapes, model, sides_of(kernel)).time_s;
}

std::optional<KernelTime> gemm_time(const HardwareProfile& profile, const KernelCase& kernel,
                                    GemmShapes& shapes) {
  const GemmSides sides = sides_of(kernel);
  const KernelModel* model = profile.model(kernel.text_without({"m", "n", "k"}));
  const KernelCurve* curve = profile.curve(curve_place(kernel).key);
  if (curve == nullptr)
    return model == nullptr ? std::nullopt : std::optional(shape_time(shapes, *model, sides));
  if (model == nullptr) return with_basis(curve_time(*curve, sides.size), "curve " + curve->key);
  if (beyond_ends(*curve, sides.size) > 0) return beyond_curve(shapes, *model, *curve, sides);
  const GemmNumbers numbers = gemm_numbers(*model);
  const BaseTime base = [&](double size) {
    const Gemm gemm = sides.at(size);
    return gemm_model_s(numbers, gemm.m, gemm.n, gemm.k);
  };
  return with_basis(curve_time(*curve, sides.size, base), "curve " + curve->key);
}

}  // namespace packsim
