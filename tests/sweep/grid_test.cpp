// Grids of scenarios: which points they have, and which jobs these make.
#include "sweep/grid.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>

using namespace packsim;

namespace {

// 2 strategies x 3 node counts with a link rate each x 2 stages.
Grid grid_of_three_axes() {
  return {.scenario = "s.json",
          .settings = {"seed=7"},
          .axes = {{{kStrategyKey, {"isf", "ffd"}}},
                   {{"cluster.nodes", {"1", "2", "4"}}, {"cluster.nic_bytes_per_s", {"1e9", "2e9", "4e9"}}},
                   {{"training.zero_stage", {"1", "3"}}}}};
}

std::vector<std::size_t> all_points(const Grid& grid) {
  std::vector<std::size_t> points(count_points(grid));
  std::iota(points.begin(), points.end(), 0);
  return points;
}

}  // namespace

TEST_CASE("a grid crosses its axes and zips the keys of one axis") {
  const Grid grid = grid_of_three_axes();
  CHECK(count_points(grid) == 12);  // 2 x 3 x 2
  CHECK(varied_keys(grid) == std::vector<std::string>{kStrategyKey, "cluster.nodes",
                                                      "cluster.nic_bytes_per_s", "training.zero_stage"});
  CHECK(values_at(grid, 0) == std::vector<std::string>{"isf", "1", "1e9", "1"});
  CHECK(values_at(grid, 1) == std::vector<std::string>{"isf", "1", "1e9", "3"});
  // 9 = 1 x 6 + 1 x 2 + 1: the second of each axis.
  CHECK(values_at(grid, 9) == std::vector<std::string>{"ffd", "2", "2e9", "3"});
  std::set<std::vector<std::string>> different;
  for (const std::size_t point : all_points(grid)) different.insert(values_at(grid, point));
  CHECK(different.size() == 12);
}

TEST_CASE("points that differ in their strategy alone are one job") {
  const Grid grid = grid_of_three_axes();
  const std::vector<SweepJob> jobs = jobs_of(grid, all_points(grid));
  REQUIRE(jobs.size() == 6);
  CHECK(jobs[3].settings == std::vector<std::string>{"seed=7", "cluster.nodes=2",
                                                     "cluster.nic_bytes_per_s=2e9", "training.zero_stage=3"});
  REQUIRE(jobs[3].points.size() == 2);
  CHECK(jobs[3].points[0].point == 3);
  CHECK(jobs[3].points[0].strategy == "isf");
  CHECK(jobs[3].points[1].point == 9);
  CHECK(jobs[3].points[1].strategy == "ffd");
}

TEST_CASE("jobs of some points have these points alone, each once") {
  const Grid grid = grid_of_three_axes();
  const std::vector<std::size_t> points = {1, 4, 10};
  const std::vector<SweepJob> jobs = jobs_of(grid, points);
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0].points.size() == 1);
  REQUIRE(jobs[1].points.size() == 2);
  CHECK(jobs[1].points[0].point == 4);
  CHECK(jobs[1].points[1].point == 10);
}

TEST_CASE("a point that a grid names twice is two rows of one job") {
  const Grid grid{.scenario = "s", .settings = {}, .axes = {{{kStrategyKey, {"isf", "isf"}}}}};
  const std::vector<SweepJob> jobs = jobs_of(grid, all_points(grid));
  REQUIRE(jobs.size() == 1);
  CHECK(jobs[0].points.size() == 2);
}

TEST_CASE("the number of points does not overflow") {
  Grid grid;
  const std::vector<std::string> many(5000, "1");
  for (int axis = 0; axis < 8; ++axis) grid.axes.push_back({{"key" + std::to_string(axis), many}});
  CHECK(count_points(grid) == kMostGridPoints + 1);
}
