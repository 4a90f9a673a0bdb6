#include "sweep/run_sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "experiment/compare_strategies.hpp"
#include "experiment/for_each_index.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "experiment/shared_work.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "sweep/parts.hpp"
#include "sweep/point_columns.hpp"
#include "sweep/read_grid.hpp"

namespace packsim {
namespace {

std::vector<std::string> strategies_of(const SweepJob& job) {
  std::vector<std::string> names;
  for (const JobPoint& point : job.points) {
    if (std::ranges::find(names, point.strategy) == names.end()) names.push_back(point.strategy);
  }
  return names;
}

std::vector<PointRow> rows_without_run(const Grid& grid, const SweepJob& job, const char* status,
                                       const std::string& reason) {
  std::vector<PointRow> rows;
  for (const JobPoint& point : job.points) rows.push_back(row_without_run(grid, point, status, reason));
  return rows;
}

const RefusedStrategy* refusal_of(const Scenario& scenario, const std::string& strategy) {
  const auto at = std::ranges::find(scenario.refused_strategies, strategy, &RefusedStrategy::name);
  return at == scenario.refused_strategies.end() ? nullptr : &*at;
}

std::vector<PointRow> rows_of_refused(const SweepRun& run, const SweepJob& job, const Scenario& scenario) {
  std::vector<PointRow> rows;
  for (const JobPoint& point : job.points) {
    if (const RefusedStrategy* refused = refusal_of(scenario, point.strategy))
      rows.push_back(
          row_without_run(run.grid, point, kRefused, fmt::format("{}", fmt::join(refused->messages, "\n"))));
  }
  return rows;
}

std::vector<PointRow> run_job(const SweepRun& run, const SweepJob& job, SharedWork& shared) {
  try {
    if (run.progress) run.progress("reading the scenario");
    Scenario scenario = scenario_of(run.grid, run.data, job.settings, MistakenStrategies::leave_out);
    std::vector<PointRow> rows = rows_of_refused(run, job, scenario);
    std::vector<std::string> names = strategies_of(job);
    std::erase_if(names, [&](const std::string& name) { return refusal_of(scenario, name) != nullptr; });
    if (names.empty()) return rows;
    keep_strategies(scenario, names);
    const Report report = compare_strategies(
        scenario, {.only_times = true, .keeps_failures = true, .shared = &shared, .progress = run.progress});
    for (const JobPoint& point : job.points) {
      if (refusal_of(scenario, point.strategy) != nullptr) continue;
      const auto result = std::ranges::find(report.runs, point.strategy, &StrategyResult::name);
      rows.push_back(simulated_row(run.grid, point.point, report, *result));
    }
    return rows;
  } catch (const ScenarioError& error) {
    return rows_without_run(run.grid, job, kRefused, error.what());
  } catch (const std::invalid_argument& error) {
    return rows_without_run(run.grid, job, kFailed, error.what());
  }
}

}  // namespace

int usable_threads(int n_threads) {
  return n_threads > 0 ? n_threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

void run_sweep(const SweepRun& run, const std::function<void(std::vector<PointRow>)>& finished) {
  std::vector<const SweepJob*> jobs;
  for (const SweepJob& job : run.jobs) jobs.push_back(&job);
  // Jobs that have prices in common run one after another, so that prices are known and few of them are kept.
  std::ranges::stable_sort(jobs, {}, [](const SweepJob* job) { return price_settings(*job); });
  SharedWork shared;
  std::mutex mutex;
  bool has_stopped = false;
  for_each_index(jobs.size(), run.n_threads, [&](std::size_t j) {
    {
      const std::scoped_lock lock(mutex);
      if (has_stopped) return;
    }
    std::vector<PointRow> rows = run_job(run, *jobs[j], shared);
    const std::scoped_lock lock(mutex);
    if (has_stopped) return;
    has_stopped = true;  // unless all goes well
    finished(std::move(rows));
    has_stopped = false;
  });
}

}  // namespace packsim
