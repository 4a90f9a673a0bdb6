#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiment/plans/stopwatch.hpp"
#include "files/version.hpp"
#include "python/bindings/simulator/bindings.hpp"
#include "python/bindings/simulator/interruptible.hpp"
#include "python/bindings/simulator/scenario_source.hpp"
#include "sweep/parts.hpp"
#include "sweep/point_columns.hpp"
#include "sweep/read_grid.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/shard.hpp"
#include "sweep/sweep_database.hpp"
#include "sweep/sweep_facts.hpp"

namespace packsim::python {
namespace {

using Indices = std::vector<std::size_t>;
using Unlocked = py::call_guard<py::gil_scoped_release>;

// A grid that was read and checked, with the data that its scenarios need.
struct SweptGrid {
  Grid grid;
  DataPaths data;
};

// The database of a grid, which this process alone writes.
class GridDatabase {
 public:
  GridDatabase(const SweptGrid& swept, const std::string& path, const std::string& shard)
      : all_jobs_(jobs_of(swept.grid)),
        database_(path, sweep_facts(swept.grid, swept.data, build_version(), shard),
                  point_columns(swept.grid)) {}

  // The indices of the jobs, of all jobs of the grid, whose points are not there yet: all of a job's points
  // are, or none is.
  Indices missing_jobs() {
    const std::vector<std::size_t> known = database_.known_points();
    Indices missing;
    for (std::size_t j = 0; j < all_jobs_.size(); ++j) {
      if (!std::ranges::binary_search(known, all_jobs_[j].points.front().point)) missing.push_back(j);
    }
    return missing;
  }

  // The same in parts for processes of their own.
  std::vector<Indices> missing_parts(std::size_t n_parts) {
    const Indices missing = missing_jobs();
    std::vector<SweepJob> jobs;
    for (const std::size_t j : missing) jobs.push_back(all_jobs_[j]);
    std::vector<Indices> parts = parts_of(jobs, n_parts);
    for (Indices& part : parts) {
      for (std::size_t& j : part) j = missing[j];
    }
    return parts;
  }

  void merge(const std::string& path) { database_.merge(path); }
  void add(const std::vector<PointRow>& rows) { database_.add(rows); }
  void close() { database_.close(); }
  const std::vector<SweepJob>& all_jobs() const { return all_jobs_; }

 private:
  std::vector<SweepJob> all_jobs_;
  SweepDatabase database_;
};

SweptGrid read(const std::string& path_or_text, const std::string& name,
               const std::vector<std::string>& varied, const std::string& axes, const Settings& settings,
               const std::optional<NamedArrays>& lengths, const std::string& library) {
  GridSource source{.path = name.empty() ? path_or_text : name,
                    .lengths = sources_of(lengths),
                    .varied = varied,
                    .axes = axes,
                    .settings = settings};
  if (!name.empty()) source.text = path_or_text;
  const py::gil_scoped_release others_may_run;
  const DataPaths data = data_paths(library);
  return {.grid = read_grid(source, data), .data = data};
}

py::tuple progress_of(std::size_t n_done, std::size_t n_points, double elapsed_s) {
  const double points_per_s = static_cast<double>(n_done) / std::max(elapsed_s, 1e-9);
  return py::make_tuple(n_done, n_points, points_per_s,
                        static_cast<double>(n_points - n_done) / points_per_s);
}

// The jobs of a shard that the database lacks or, where some are chosen, those of them.
std::vector<SweepJob> jobs_to_run(GridDatabase& database, const std::string& shard,
                                  const std::optional<Indices>& only_jobs) {
  const Shard part = shard_of(shard);
  std::vector<SweepJob> jobs;
  for (const std::size_t j : database.missing_jobs()) {
    const bool is_asked = only_jobs ? std::ranges::find(*only_jobs, j) != only_jobs->end()
                                    : j % part.n_shards == part.index - 1;
    if (is_asked) jobs.push_back(database.all_jobs()[j]);
  }
  return jobs;
}

// Does what `packsim sweep` does.
void run(const SweptGrid& swept, const std::string& out, const std::string& shard,
         const std::vector<std::string>& merged, const std::optional<Indices>& only_jobs, int n_threads,
         const py::object& progress) {
  run_telling(progress, [&](const Tell& tell) {
    const Stopwatch watch;
    shard_of(shard);  // before a file is made
    GridDatabase database(swept, out, shard);
    for (const std::string& path : merged) database.merge(path);
    const std::vector<SweepJob> jobs = jobs_to_run(database, shard, only_jobs);
    const std::size_t n_points = count_points(jobs);
    std::size_t n_done = 0;
    try {
      run_sweep({.grid = swept.grid,
                 .jobs = jobs,
                 .data = swept.data,
                 .n_threads = usable_threads(n_threads),
                 .progress = [&](const std::string&) { tell({}); }},
                [&](const std::vector<PointRow>& rows) {
                  database.add(rows);
                  n_done += rows.size();
                  tell([=, elapsed_s = watch.seconds()] { return progress_of(n_done, n_points, elapsed_s); });
                });
    } catch (...) {
      // One file with what was computed, as far as it can be written; nothing is lost otherwise.
      try {
        database.close();
      } catch (const std::exception&) {
      }
      throw;
    }
    database.close();
  });
}

}  // namespace

void add_sweep(py::module_& module) {
  py::class_<SweptGrid>(module, "Grid")
      .def("run", run)
      .def(
          "open",
          [](const SweptGrid& swept, const std::string& out) {
            return std::make_unique<GridDatabase>(swept, out, "");
          },
          Unlocked());
  py::class_<GridDatabase>(module, "GridDatabase")
      .def("missing_parts", &GridDatabase::missing_parts, Unlocked())
      .def("merge", &GridDatabase::merge, Unlocked())
      .def("close", &GridDatabase::close, Unlocked());
  module.def("read_grid", read);
}

}  // namespace packsim::python
