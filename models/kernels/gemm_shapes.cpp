#include "models/kernels/gemm_shapes.hpp"

#include <cmath>

#include "models/kernels/neighbours.hpp"

namespace packsim {

GemmSides sides_of(const KernelCase& kernel) {
  if (kernel.value("layout") == "nt")
    return {{kernel.number("m"), kernel.number("n")}, kernel.number("k"), true};
  return {{kernel.number("n"), kernel.number("k")}, kernel.number("m"), false};
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

const std::vector<GemmNeighbour>& GemmShapes::near(const KernelModel& model, const GemmSides& sides) {
  const auto [place, is_new] = known_.try_emplace({&model, sides.over_k, sides.fixed[0], sides.fixed[1]});
  std::vector<GemmNeighbour>& all = place->second;
  if (!is_new || model.number("n_neighbours") == 0) return all;
  for (GemmNeighbour neighbour : measured(model, sides.over_k)) {
    const double first = std::log(neighbour.sides.fixed[0] / sides.fixed[0]);
    const double second = std::log(neighbour.sides.fixed[1] / sides.fixed[1]);
    neighbour.sides.size = sides.size;
    neighbour.distance = std::sqrt(first * first + second * second);
    if (neighbour.distance > 0) all.push_back(neighbour);
  }
  keep_nearest(all, static_cast<std::size_t>(model.number("n_neighbours")));
  all.shrink_to_fit();
  return all;
}

}  // namespace packsim
