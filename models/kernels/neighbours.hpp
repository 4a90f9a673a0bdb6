#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace packsim {

/// Keeps the at most n nearest of measured shapes, nearest first, and sets their weights: those of inverse
/// squared distances, with a sum of 1. Neighbour: anything with a distance and a weight.
template <typename Neighbour>
void keep_nearest(std::vector<Neighbour>& neighbours, std::size_t n) {
  // Added to squared distances, so that a shape next door does not drown the others' say (and its noise with
  // them).
  constexpr double kNextDoor = 0.001;
  n = std::min(n, neighbours.size());
  std::ranges::partial_sort(neighbours, neighbours.begin() + static_cast<std::ptrdiff_t>(n), {},
                            &Neighbour::distance);
  neighbours.resize(n);
  double sum = 0;
  for (Neighbour& neighbour : neighbours) {
    neighbour.weight = 1 / (neighbour.distance * neighbour.distance + kNextDoor);
    sum += neighbour.weight;
  }
  for (Neighbour& neighbour : neighbours) neighbour.weight /= sum;
}

}  // namespace packsim
