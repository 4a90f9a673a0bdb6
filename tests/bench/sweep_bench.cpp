// A sweep of 1 000 points on 941 344 samples, beside a loop that starts `packsim run` for every hundredth of
// them: 5 strategies x 5 numbers of nodes x 10 link rates x 4 ZeRO stages. An item is a point.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "sweep/point_columns.hpp"
#include "sweep/read_grid.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/sweep_database.hpp"
#include "tests/paths.hpp"

namespace {

using packsim::Grid;

const packsim::DataPaths& data() {
  static const packsim::DataPaths kData{.root = packsim_test::source_dir()};
  return kData;
}

Grid grid_of_1000() {
  const std::vector<std::string> axes = {"strategy=random,isf,ffd,bfs,hbp", "cluster.nodes=1,2,4,8,16",
                                         "cluster.nic_bytes_per_s=5e10,1e11,1.5e11,2e11,2.5e11,3e11,3.5e11,"
                                         "4e11,4.5e11,5e11",
                                         "training.zero_stage=0,1,2,3"};
  return packsim::read_grid({.path = "llama3.1-8b-hybrid-128k", .varied = axes, .settings = {}}, data());
}

std::vector<std::size_t> points_of(const Grid& grid, std::size_t step) {
  std::vector<std::size_t> points;
  for (std::size_t point = step / 2; point < packsim::count_points(grid); point += step)
    points.push_back(point);
  return points;
}

void sweep(benchmark::State& state) {
  const Grid grid = grid_of_1000();
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "packsim-sweep-bench.db";
  std::size_t n_points = 0;
  for (auto _ : state) {
    std::filesystem::remove(path);
    packsim::SweepDatabase database(path.string(), {}, packsim::point_columns(grid));
    const std::vector<packsim::SweepJob> jobs = packsim::jobs_of(grid, points_of(grid, 1));
    packsim::run_sweep({.grid = grid, .jobs = jobs, .data = data(), .n_threads = 2},
                       [&](const std::vector<packsim::PointRow>& rows) {
                         database.add(rows);
                         n_points += rows.size();
                       });
    database.close();
  }
  std::filesystem::remove(path);
  state.SetItemsProcessed(static_cast<std::int64_t>(n_points));
}

void loop_of_runs(benchmark::State& state) {
  const Grid grid = grid_of_1000();
  const std::vector<std::string> keys = packsim::varied_keys(grid);
  const std::string out = (std::filesystem::temp_directory_path() / "packsim-sweep-bench").string();
  std::size_t n_points = 0;
  for (auto _ : state) {
    for (const std::size_t point : points_of(grid, 100)) {
      const std::vector<std::string> values = packsim::values_at(grid, point);
      std::string command = "PACKSIM_DATA='" + data().root + "' '" + packsim_test::program() +
                            "' run llama3.1-8b-hybrid-128k --quiet --out '" + out + "'";
      for (std::size_t k = 0; k < keys.size(); ++k)
        command += keys[k] == packsim::kStrategyKey ? " --strategy " + values[k]
                                                    : " --set " + keys[k] + "=" + values[k];
      if (std::system(command.c_str()) != 0) state.SkipWithError(command.c_str());
      ++n_points;
    }
  }
  std::filesystem::remove_all(out);
  state.SetItemsProcessed(static_cast<std::int64_t>(n_points));
}

}  // namespace

BENCHMARK(sweep)->Iterations(1)->UseRealTime()->Unit(benchmark::kSecond);
BENCHMARK(loop_of_runs)->Iterations(1)->UseRealTime()->Unit(benchmark::kSecond);
