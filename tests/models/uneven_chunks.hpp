#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace packsim_test {

/// The layers of n_chunks chunks, drawn: at least one a chunk, but for the first and the last of several.
inline std::vector<int> uneven_chunks(int n_layers, int n_chunks, std::mt19937& generator) {
  std::vector<int> layers(static_cast<std::size_t>(n_chunks), 1);
  if (n_chunks > 1) layers.front() = layers.back() = 0;
  int left = n_layers;
  for (const int chunk : layers) left -= chunk;
  for (; left > 0; --left) ++layers[generator() % layers.size()];
  return layers;
}

}  // namespace packsim_test
