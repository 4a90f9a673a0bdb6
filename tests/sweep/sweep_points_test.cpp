// What a planning page takes from a sweep's database.
#include "sweep/sweep_points.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>

#include "files/file_error.hpp"
#include "sweep/point_columns.hpp"
#include "sweep/sweep_database.hpp"

using Catch::Contains;
using namespace packsim;

namespace {

namespace fs = std::filesystem;

// A file that is gone with the test.
class PageDatabase {
 public:
  PageDatabase()
      : path_((fs::temp_directory_path() / ("page-" + std::to_string(::getpid()) + ".db")).string()) {
    fs::remove(path_);
  }
  ~PageDatabase() { fs::remove(path_); }
  PageDatabase(const PageDatabase&) = delete;
  PageDatabase& operator=(const PageDatabase&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Grid page_grid() {
  return {.scenario = "s.json",
          .settings = {},
          .axes = {{{kStrategyKey, {"isf"}}}, {{"cluster.nodes", {"1", "2", "4", "8"}}}}};
}

void set(const std::vector<PointColumn>& columns, PointRow& row, const std::string& name,
         const Value& value) {
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (columns[c].name == name) row.values[c] = value;
}

// A row that was simulated: 2 GPU-days between 1.8 and 2.4 on 8 GPUs.
PointRow timed_row(const Grid& grid, std::size_t point) {
  PointRow row = row_without_run(grid, {point, "isf"}, kSimulated, "");
  for (const auto& [name, value] : std::vector<std::pair<std::string, Value>>{
           {"reason", Value()},
           {"n_gpus", std::int64_t{8}},
           {"gpu_days", 2.0},
           {"gpu_days_low", 1.8},
           {"gpu_days_high", 2.4},
           {"wall_hours", 6.0},
           {"cost", 100.0},
           {"groups", std::string("16384 tokens, SP 1; 131072 tokens, SP 8")},
           {"plan", std::string(R"({"groups": [{"sp_degree": 1}, )"
                                R"({"sp_degree": 8, "gc_layers": 12}]})")},
           {"peak_memory_bytes", 1024.0 * 1024 * 1024}})
    set(point_columns(grid), row, name, value);
  return row;
}

}  // namespace

TEST_CASE("points of a database have their settings, amounts with intervals, and standing") {
  const PageDatabase file;
  const Grid grid = page_grid();
  PointRow other = timed_row(grid, 1);
  set(point_columns(grid), other, "differences", std::string("fewer tokens"));
  PointRow failing = timed_row(grid, 2);
  set(point_columns(grid), failing, "gpu_days_with_failures", 3.0);
  set(point_columns(grid), failing, "gpu_days_with_failures_p05", 2.7);
  set(point_columns(grid), failing, "gpu_days_with_failures_p95", 3.6);
  set(point_columns(grid), failing, "wall_hours_with_failures", 9.0);
  set(point_columns(grid), failing, "cost_with_failures", 150.0);
  PointRow endless = timed_row(grid, 3);
  set(point_columns(grid), endless, "gpu_days_with_failures", std::numeric_limits<double>::infinity());
  set(point_columns(grid), endless, "effective_fraction", 0.0);
  {
    SweepDatabase database(file.path(), {{"scenario", "s.json"}, {"points", "5"}}, point_columns(grid));
    const std::vector<PointRow> rows = {timed_row(grid, 0), other, failing, endless};
    database.add(rows);
    database.close();
  }
  const PlanningData data = read_sweep_points(file.path());
  CHECK(data.title == "s.json");
  CHECK_THAT(data.source, Contains("4 points out of the 5 of its grid"));
  REQUIRE(data.points.size() == 4);
  CHECK(data.points[0].standing == PointStanding::compared);
  CHECK(data.points[0].hours->high == Approx(6.0 * 2.4 / 2.0));
  CHECK(data.points[0].money->low == Approx(100.0 * 1.8 / 2.0));
  CHECK(data.points[1].standing == PointStanding::other_job);
  CHECK(data.points[1].reason == "fewer tokens");
  // Expected with failures; the ends are as far off in prices as in failures.
  CHECK(data.points[2].gpu_days->value == 3.0);
  CHECK(data.points[2].hours->value == 9.0);
  CHECK(data.points[2].money->high == Approx(150.0 * (2.4 / 2.0) * (3.6 / 3.0)));
  CHECK(data.points[3].standing == PointStanding::failed);
  CHECK(data.points[3].reason == kNeverFinishes);
  CHECK(!data.points[3].hours);
  REQUIRE(data.settings.size() == 1);
  CHECK(data.settings[0].values[2] == Value(std::int64_t{4}));
  CHECK(data.settings[0].key == "cluster.nodes");
  CHECK(data.settings[0].title == "nodes");
  // SP degree and GC layers of the longest packs; memory in GiB.
  CHECK(data.further[0].values[0] == Value(std::int64_t{8}));
  CHECK(data.further[1].values[0] == Value(std::int64_t{12}));
  for (const PlanningColumn& column : data.further)
    if (column.key == "@peak_memory_bytes") CHECK(column.values[0] == Value(1.0));
}

TEST_CASE("points of a scenario with another job are not compared with those of the first") {
  for (const auto& [key, is_marked] :
       std::vector<std::pair<std::string, bool>>{{"training.epochs", true},
                                                 {"training.tokens_per_iteration", true},
                                                 {"lengths.mix.0.count", true},
                                                 {"model", true},
                                                 {"packing.over_long", true},
                                                 {"what_if.free", true},
                                                 {"cluster.nodes", false},
                                                 {"training.zero_stage", false}}) {
    CAPTURE(key);
    Grid grid = page_grid();
    grid.axes[1] = {{key, {"1", "2", "1", "2"}}};
    const PageDatabase database;
    SweepDatabase written(database.path(), {}, point_columns(grid));
    for (std::size_t point = 0; point < 4; ++point) written.add(std::vector{timed_row(grid, point)});
    written.close();
    const PlanningData data = read_sweep_points(database.path());
    for (const std::size_t point : {0U, 2U}) CHECK(data.points[point].standing == PointStanding::compared);
    for (const std::size_t point : {1U, 3U}) {
      CHECK((data.points[point].standing == PointStanding::other_job) == is_marked);
      CHECK(data.points[point].reason == (is_marked ? "another " + key + " than point 0 has" : ""));
    }
  }
}

TEST_CASE("what is no sweep is refused with its path") {
  const PageDatabase file;
  CHECK_THROWS_AS(read_sweep_points(file.path()), FileError);
  std::ofstream(file.path()) << "tokens\n5\n";
  CHECK_THROWS_WITH(read_sweep_points(file.path()),
                    Contains(file.path() + ": expected a database of packsim sweep"));
  fs::remove(file.path());
  {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(file.path().c_str(), &database) == SQLITE_OK);
    REQUIRE(sqlite3_exec(database, "CREATE TABLE points (point, name)", nullptr, nullptr, nullptr) ==
            SQLITE_OK);
    sqlite3_close(database);
  }
  CHECK_THROWS_WITH(read_sweep_points(file.path()), Contains("without the column points.status"));
}

TEST_CASE("a sweep without points is refused") {
  const PageDatabase file;
  SweepDatabase(file.path(), {{"scenario", "s.json"}}, point_columns(page_grid())).close();
  CHECK_THROWS_WITH(read_sweep_points(file.path()), Contains("expected a sweep of 1 to 100000 points"));
}
