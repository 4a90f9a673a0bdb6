#include "sweep/grid.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace packsim {
namespace {

std::size_t n_choices(const GridAxis& axis) {
  return axis.front().values.size();
}

}  // namespace

std::vector<std::string> varied_keys(const Grid& grid) {
  std::vector<std::string> keys;
  for (const GridAxis& axis : grid.axes) {
    for (const VariedKey& varied : axis) keys.push_back(varied.key);
  }
  return keys;
}

std::vector<std::string> short_keys(const std::vector<std::string>& keys) {
  const auto end_of = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };  // npos + 1 is 0
  std::vector<std::string> names;
  for (const std::string& key : keys)
    names.push_back(std::ranges::count(keys, end_of(key), end_of) == 1 ? end_of(key) : key);
  return names;
}

std::size_t count_points(const Grid& grid) {
  std::size_t n = 1;
  for (const GridAxis& axis : grid.axes) n = std::min(n * n_choices(axis), kMostGridPoints + 1);
  return n;
}

bool decides_job(const std::string& key) {
  return key.starts_with("model") || key.starts_with("lengths") || key.starts_with("what_if") ||
         key.starts_with("mixing") || key == "seed" || key == "training.tokens_per_iteration" ||
         key == "training.epochs" || key.ends_with("over_long");
}

std::vector<std::string> values_at(const Grid& grid, std::size_t point) {
  std::vector<std::size_t> choices(grid.axes.size());
  for (std::size_t a = grid.axes.size(); a-- > 0;) {
    choices[a] = point % n_choices(grid.axes[a]);
    point /= n_choices(grid.axes[a]);
  }
  std::vector<std::string> values;
  for (std::size_t a = 0; a < grid.axes.size(); ++a) {
    for (const VariedKey& varied : grid.axes[a]) values.push_back(varied.values[choices[a]]);
  }
  return values;
}

std::vector<SweepJob> jobs_of(const Grid& grid, std::span<const std::size_t> points) {
  const std::vector<std::string> keys = varied_keys(grid);
  std::vector<SweepJob> jobs;
  std::map<std::vector<std::string>, std::size_t> known;  // jobs by settings
  for (const std::size_t point : points) {
    std::vector<std::string> settings = grid.settings;
    std::string strategy;
    const std::vector<std::string> values = values_at(grid, point);
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (keys[k] == kStrategyKey) {
        strategy = values[k];
      } else {
        settings.push_back(keys[k] + "=" + values[k]);
      }
    }
    const auto [at, is_new] = known.try_emplace(std::move(settings), jobs.size());
    if (is_new) jobs.push_back({.settings = at->first, .points = {}});
    jobs[at->second].points.push_back({point, strategy});
  }
  return jobs;
}

}  // namespace packsim
