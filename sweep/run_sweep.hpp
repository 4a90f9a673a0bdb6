#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/loader/data_paths.hpp"
#include "sweep/grid.hpp"
#include "sweep/sweep_database.hpp"

namespace packsim {

struct SweepRun {
  const Grid& grid;
  std::span<const SweepJob> jobs;
  const DataPaths& data;
  int n_threads = 1;
  /// Called from any thread with what is going on. What it throws ends the sweep if it is no std::exception.
  std::function<void(const std::string&)> progress = {};
};

/// Returns as many threads as are asked for; for 0, one for each core.
int usable_threads(int n_threads);

/// Simulates the points of the jobs, with what they have in common computed once. A point equals the run of
/// `packsim compare` on its scenario to the last bit, but for the lower bound, which it lacks.
///
/// finished: is called by one thread at a time with the rows of one job. A scenario that is refused, and a
/// strategy that fails, are rows with a reason. Throws what `finished` throws, and FileError.
void run_sweep(const SweepRun& run, const std::function<void(std::vector<PointRow>)>& finished);

}  // namespace packsim
