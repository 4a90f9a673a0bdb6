#include "models/kernels/gemm_shapes.hpp"

#include <cmath>

#include "models/kernels/neighbours.hpp"

namespace packsim {

GemmSides sides_of(const KernelCase& kernel) {
  const auto size = [&](std::string_view key) { return static_cast<double>(kernel.integer(key)); };
  if (kernel.value("layout") == "nt") return {{size("m"), size("n")}, size("k"), true};
  return {{size("n"), size("k")}, size("m"), false};
}

const std::vector<GemmNeighbour>& GemmShapes::near(const KernelModel& model, const GemmSides& sides) {
  const auto [place, is_new] = known_.try_emplace({&model, sides.over_k, sides.fixed[0], sides.fixed[1]});
  std::vector<GemmNeighbour>& all = place->second;
  if (!is_new || model.number("n_neighbours") == 0) return all;
  const std::string_view layout = key_value(model.key, "layout");
  const std::string_view cache = key_value(model.key, "cache");
  for (const KernelCurve* curve : profile_->curves_of("gemm ")) {
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

}  // namespace packsim
