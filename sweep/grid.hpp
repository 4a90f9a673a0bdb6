#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// The key of a grid that chooses among the strategies of its scenario.
inline constexpr const char* kStrategyKey = "strategy";

/// A key of a scenario, and the values that a sweep gives it.
struct VariedKey {
  std::string key;                  ///< as --set takes it: "cluster.nodes"; or kStrategyKey
  std::vector<std::string> values;  ///< as --set takes them, in JSON; of kStrategyKey, names
};

/// Keys that change together: the i-th values of all of them are one choice. All have as many values.
using GridAxis = std::vector<VariedKey>;

/// Scenarios that differ in some keys. A point is one strategy of one of them.
struct Grid {
  std::string scenario;                           ///< as load_scenario() takes it
  std::optional<std::string> scenario_text = {};  ///< of a scenario that no file holds, with its name above
  std::vector<LengthSource> lengths = {};         ///< in place of the scenario's, if there are any
  std::vector<std::string> settings;              ///< "KEY=VALUE", of every point
  std::vector<GridAxis> axes;                     ///< are crossed
};

/// The most points of a grid.
inline constexpr std::size_t kMostGridPoints = 1'000'000;

/// The keys of all axes, in their order.
std::vector<std::string> varied_keys(const Grid& grid);
/// Each key, or its end where no other key has it: "nodes" for "cluster.nodes".
std::vector<std::string> short_keys(const std::vector<std::string>& keys);

/// Whether points with other values of this key train another job, or in a world that is not (what-ifs), so
/// that their costs are no comparison.
bool decides_job(const std::string& key);

/// Number of points: the product of the lengths of the axes. kMostGridPoints + 1 where there are more.
std::size_t count_points(const Grid& grid);

/// The value of each of varied_keys() at a point. Points are numbered from 0; the last axis changes first.
std::vector<std::string> values_at(const Grid& grid, std::size_t point);

/// A strategy of a job, and the number of its point in the grid.
struct JobPoint {
  std::size_t point = 0;
  std::string strategy;
};

/// The points that have one scenario: they differ in their strategy alone, and can be compared.
struct SweepJob {
  std::vector<std::string> settings;  ///< "KEY=VALUE" that make the scenario, those of the grid first
  std::vector<JobPoint> points;
};

/// The jobs of these points, in the order of their first points. The grid has an axis with kStrategyKey.
std::vector<SweepJob> jobs_of(const Grid& grid, std::span<const std::size_t> points);

}  // namespace packsim
