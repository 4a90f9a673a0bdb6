// Grids of scenarios: which points they have, and which jobs these make.
#include "sweep/grid.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "sweep/parts.hpp"
#include "sweep/shard.hpp"

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

TEST_CASE("parts have every job once, and those with the same packs next to each other") {
  Grid grid = grid_of_three_axes();
  // The axis that decides packs changes last, so that its jobs are far from each other in the grid.
  grid.axes.push_back({{"packing.capacity_tokens", {"32768", "65536"}}});
  const std::vector<SweepJob> jobs = jobs_of(grid);
  REQUIRE(jobs.size() == 12);
  for (const std::size_t n_parts : {1U, 4U, 5U, 12U, 100U}) {
    CAPTURE(n_parts);
    const std::vector<std::vector<std::size_t>> parts = parts_of(jobs, n_parts);
    CHECK(parts.size() == std::min<std::size_t>(n_parts, 12));
    std::vector<std::size_t> in_order;
    for (const std::vector<std::size_t>& part : parts) {
      CHECK(!part.empty());
      in_order.insert(in_order.end(), part.begin(), part.end());
    }
    CHECK(std::set<std::size_t>(in_order.begin(), in_order.end()).size() == 12);
    CHECK(in_order.size() == 12);
  }
  // ZeRO stages are not among the settings of prices. 2 x 2 kinds of packs, of 3 jobs each.
  for (const std::vector<std::size_t>& part : parts_of(jobs, 4)) {
    std::set<std::string> packs;
    for (const std::size_t j : part) packs.insert(jobs[j].settings[3] + jobs[j].settings[4]);
    CHECK(packs.size() == 1);
  }
  CHECK(parts_of({}, 3).empty());
}

TEST_CASE("a shard has every n-th job") {
  const Grid grid = grid_of_three_axes();
  const std::vector<SweepJob> jobs = jobs_of(grid, shard_of("2/4"));
  REQUIRE(jobs.size() == 2);  // of 6: the second and the sixth
  CHECK(jobs[0].settings == jobs_of(grid)[1].settings);
  CHECK(jobs[1].settings == jobs_of(grid)[5].settings);
  CHECK(count_points(jobs) == 4);
  CHECK(jobs_of(grid, shard_of("")).size() == 6);
}
