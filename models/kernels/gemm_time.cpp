#include <algorithm>
#include <cmath>

#include "models/kernels/gemm_shapes.hpp"
#include "models/kernels/kernel_times.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

// The points near a shape as a curve. Behind the last one it grows as the model does.
double neighbour_curve_s(const KernelModel& fitted, const GemmSurroundings& near, const GemmSides& sides,
                         double size) {
  const GemmNumbers model = gemm_numbers(fitted);
  const auto grown_s = [&](const GemmPoint& from) {
    return from.time_s * gemm_model_s(model, sides, size) / gemm_model_s(model, sides, from.size);
  };
  const std::vector<GemmPoint>& points = near.points;
  if (points.empty()) return gemm_model_s(model, sides, size);
  const auto high = std::ranges::lower_bound(points, size, {}, &GemmPoint::size);
  if (high == points.end()) return grown_s(points.back());
  if (high == points.begin() || high->size == size) return grown_s(*high);
  const GemmPoint& low = *(high - 1);
  const double part = std::log(size / low.size) / std::log(high->size / low.size);
  return std::exp((1 - part) * std::log(low.time_s) + part * std::log(high->time_s));
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
  const GemmSurroundings& near = shapes.near(model, sides);
  const double outside = outside_of(model, sides);
  return {.time_s = neighbour_curve_s(model, near, sides, sides.size),
          .relative_error = together(shape_error(model, near.neighbours), model.end_error * outside),
          .evidence = evidence_of(model, outside),
          .basis = "model of " + model.key +
                   (near.neighbours.empty() ? "" : " with the nearest shapes' residuals")};
}

// A size beyond the end of the shape's own curve: the curve goes on as the shapes around it do.
KernelTime beyond_curve(GemmShapes& shapes, const KernelModel& model, const KernelCurve& curve,
                        const GemmSides& sides) {
  const bool above = sides.size > curve.points.back().size;
  const CurvePoint& end = above ? curve.points.back() : curve.points.front();
  const GemmSurroundings& near = shapes.near(model, sides);
  const double growth =
      neighbour_curve_s(model, near, sides, sides.size) / neighbour_curve_s(model, near, sides, end.size);
  const double outside = outside_of(model, sides);
  return {.time_s = end.time_s * growth,
          .relative_error =
              together(end.relative_error, shape_error(model, near.neighbours), model.end_error * outside),
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
  const BaseTime base = [&](double size) { return gemm_model_s(numbers, sides, size); };
  return with_basis(curve_time(*curve, sides.size, base), "curve " + curve->key);
}

}  // namespace packsim
