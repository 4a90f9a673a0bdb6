#include "models/kernels/gemm_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/kernels/curve_time.hpp"
#include "models/kernels/kernel_times.hpp"
#include "models/kernels/neighbours.hpp"

namespace packsim {
namespace {

// The model, times the ratio of nearby shapes' times to it. That ratio holds beyond the ends of their curves.
double corrected_s(const GemmNumbers& model, const std::vector<GemmNeighbour>& neighbours,
                   const GemmSides& sides, double size) {
  double log_ratio = 0;
  for (const GemmNeighbour& neighbour : neighbours) {
    const std::vector<CurvePoint>& points = neighbour.curve->points;
    const double inside = std::clamp(size, points.front().size, points.back().size);
    const BaseTime base = [&](double at) { return gemm_model_s(model, neighbour.sides, at); };
    log_ratio +=
        neighbour.weight * std::log(curve_time(*neighbour.curve, inside, base).time_s / base(inside));
  }
  return gemm_model_s(model, sides, size) * std::exp(log_ratio);
}

std::vector<GemmPoint> corrected_points(const GemmNumbers& model,
                                        const std::vector<GemmNeighbour>& neighbours,
                                        const GemmSides& sides) {
  std::set<double> sizes;
  for (const GemmNeighbour& neighbour : neighbours) {
    for (const CurvePoint& point : neighbour.curve->points) sizes.insert(point.size);
  }
  std::vector<GemmPoint> points;
  double least_s = 0;
  for (const double size : sizes) {
    least_s = std::max(least_s, corrected_s(model, neighbours, sides, size));
    points.push_back({size, least_s});
  }
  return points;
}

}  // namespace

GemmSides sides_of(const KernelCase& kernel) {
  if (kernel.value("layout") == "nt")
    return {{kernel.number("m"), kernel.number("n")}, kernel.number("k"), true};
  return {{kernel.number("n"), kernel.number("k")}, kernel.number("m"), false};
}

double gemm_model_s(const GemmNumbers& numbers, const GemmSides& sides, double size) {
  const Gemm gemm = sides.at(size);
  return gemm_model_s(numbers, gemm.m, gemm.n, gemm.k);
}

// All measured shapes of the model's layout and cache, without distances.
const std::vector<GemmNeighbour>& GemmShapes::measured(const KernelModel& model, bool over_k) {
  const auto [place, is_new] = measured_.try_emplace({&model, over_k});
  if (!is_new) return place->second;
  const std::string_view layout = key_value(model.key, "layout");
  const std::string_view cache = key_value(model.key, "cache");
  const std::string_view dtype = key_value(model.key, "dtype");
  for (const KernelCurve* curve : profile_->curves_of("gemm ")) {
    if (key_value(curve->key, "layout") != layout || key_value(curve->key, "cache") != cache ||
        key_value(curve->key, "dtype") != dtype)
      continue;
    GemmNeighbour& neighbour = place->second.emplace_back();
    neighbour.curve = curve;
    neighbour.sides.over_k = over_k;
    neighbour.sides.fixed = over_k ? std::array{key_number(curve->key, "m"), key_number(curve->key, "n")}
                                   : std::array{key_number(curve->key, "n"), key_number(curve->key, "k")};
  }
  return place->second;
}

const GemmSurroundings& GemmShapes::near(const KernelModel& model, const GemmSides& sides) {
  const auto [place, is_new] = known_.try_emplace({&model, sides.over_k, sides.fixed[0], sides.fixed[1]});
  GemmSurroundings& near = place->second;
  if (!is_new || model.number("n_neighbours") == 0) return near;
  for (GemmNeighbour neighbour : measured(model, sides.over_k)) {
    const double first = std::log(neighbour.sides.fixed[0] / sides.fixed[0]);
    const double second = std::log(neighbour.sides.fixed[1] / sides.fixed[1]);
    neighbour.distance = std::sqrt(first * first + second * second);
    if (neighbour.distance > 0) near.neighbours.push_back(neighbour);
  }
  keep_nearest(near.neighbours, static_cast<std::size_t>(model.number("n_neighbours")));
  near.neighbours.shrink_to_fit();
  near.points = corrected_points(gemm_numbers(model), near.neighbours, sides);
  return near;
}

}  // namespace packsim
