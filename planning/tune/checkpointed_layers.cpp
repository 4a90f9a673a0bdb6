#include "planning/tune/checkpointed_layers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace packsim {
namespace {

// Cases of one length and degree.
struct Readings {
  std::vector<FreeMemory> free;
  int most_out_of_memory = -1;  // checkpointed layers
};

}  // namespace

std::optional<int> fewest_checkpointed_layers(const FreeMemory& fewest, const FreeMemory& most,
                                              int n_layers) {
  if (fewest.gc_layers < 0 || fewest.gc_layers >= most.gc_layers || most.gc_layers > n_layers)
    throw std::invalid_argument("gc_layers: expected two numbers of layers, the smaller one first");
  if (most.free_bytes < 0) return std::nullopt;
  if (most.free_bytes <= fewest.free_bytes) return 0;
  // The published c_max - m_2 / m_ave. Rounding the layers without checkpointing down rounds the result up.
  const double unchecked_layers = std::floor(most.free_bytes * (most.gc_layers - fewest.gc_layers) /
                                             (most.free_bytes - fewest.free_bytes));
  return static_cast<int>(std::max(most.gc_layers - unchecked_layers, 0.0));
}

std::vector<FewerLayers> fewer_layers_that_fit(std::span<const ProfiledCase> cases, double gpu_memory_bytes,
                                               int n_layers) {
  std::map<std::pair<std::int64_t, int>, Readings> all;
  for (const ProfiledCase& one : cases) {
    Readings& readings = all[{one.pack_tokens, one.sequence.ulysses}];
    if (!one.feasible()) readings.most_out_of_memory = std::max(readings.most_out_of_memory, one.gc_layers);
    if (one.feasible() && one.peak_memory_bytes)
      readings.free.push_back({one.gc_layers, gpu_memory_bytes - *one.peak_memory_bytes});
  }
  std::vector<FewerLayers> found;
  for (auto& [length_and_degree, readings] : all) {
    if (readings.free.size() < 2) continue;
    const auto [fewest, most] = std::ranges::minmax(readings.free, {}, &FreeMemory::gc_layers);
    const std::optional<int> fitting = fewest_checkpointed_layers(fewest, most, n_layers);
    if (!fitting || *fitting >= fewest.gc_layers) continue;
    if (*fitting <= readings.most_out_of_memory) continue;
    found.push_back({.pack_tokens = length_and_degree.first,
                     .sequence = {.ulysses = length_and_degree.second},
                     .gc_layers = *fitting,
                     .profiled_gc_layers = fewest.gc_layers});
  }
  return found;
}

}  // namespace packsim
