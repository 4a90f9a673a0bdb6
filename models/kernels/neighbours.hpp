#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace packsim {

/// Keeps the n nearest of the measured shapes, or all if there are fewer, and sorts them from near to far.
/// Their weights are inverse squared distances, scaled to a sum of 1. Neighbour: any type with a distance and
/// a weight.
template <typename Neighbour>
void keep_nearest(std::vector<Neighbour>& neighbours, std::size_t n) {
  // Added to squared distances, so that one very near shape, with its noise, does not outweigh all others.
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
