#include "sweep/shard.hpp"

#include <cstdio>
#include <numeric>
#include <stdexcept>

#include "scenarios/loader/json/json_text.hpp"

namespace packsim {

Shard shard_of(const std::string& text) {
  if (text.empty()) return {};
  Shard shard;
  int n_read = 0;
  const bool is_read = std::sscanf(text.c_str(), "%zu/%zu%n", &shard.index, &shard.n_shards, &n_read) == 2 &&
                       static_cast<std::size_t>(n_read) == text.size();
  if (!is_read || text.front() == '-' || shard.index < 1 || shard.index > shard.n_shards ||
      shard.n_shards > kMostGridPoints)
    throw std::invalid_argument("--shard: expected I/N with I from 1 to N, such as 2/8, got " + quote(text));
  return shard;
}

std::vector<SweepJob> jobs_of(const Grid& grid) {
  std::vector<std::size_t> points(count_points(grid));
  std::iota(points.begin(), points.end(), std::size_t{0});
  return jobs_of(grid, points);
}

std::vector<SweepJob> jobs_of(const Grid& grid, const Shard& shard) {
  const std::vector<SweepJob> all = jobs_of(grid);
  std::vector<SweepJob> jobs;
  for (std::size_t j = shard.index - 1; j < all.size(); j += shard.n_shards) jobs.push_back(all[j]);
  return jobs;
}

std::size_t count_points(const std::vector<SweepJob>& jobs) {
  std::size_t n = 0;
  for (const SweepJob& job : jobs) n += job.points.size();
  return n;
}

}  // namespace packsim
