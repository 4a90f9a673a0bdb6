#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sweep/grid.hpp"

namespace packsim {

/// Every n_shards-th job of a grid, from the index-th on.
struct Shard {
  std::size_t index = 1;
  std::size_t n_shards = 1;
};

/// "I/N", or all of the grid where it is empty. Throws std::invalid_argument.
Shard shard_of(const std::string& text);

/// All jobs of a grid, in the order of their first points.
std::vector<SweepJob> jobs_of(const Grid& grid);

/// The jobs of a shard. Their points are compared with each other, so a job is never divided.
std::vector<SweepJob> jobs_of(const Grid& grid, const Shard& shard);

/// Number of points of all of the jobs.
std::size_t count_points(const std::vector<SweepJob>& jobs);

}  // namespace packsim
