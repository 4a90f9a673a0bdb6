#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"
#include "cli/ray/sweep_on_ray.hpp"
#include "cli/shared/interrupts.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/terminal.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "files/text/printable.hpp"
#include "sweep/point_columns.hpp"
#include "sweep/read_grid.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/shard.hpp"
#include "sweep/sweep_database.hpp"
#include "sweep/sweep_facts.hpp"
#include "sweep/sweep_summary.hpp"

namespace packsim {
namespace {

struct SweepArguments {
  std::string grid;
  std::vector<std::string> settings;
  std::vector<std::string> varied;
  std::string out = "sweep.db";
  std::string shard;  // "I/N"; empty: all points
  std::vector<std::string> merged;
  int threads = 0;                 // 0: one for each core
  std::optional<std::string> ray;  // the address of a cluster; none: this machine
  bool quiet = false;
};

std::string rate_text(std::size_t n_done, std::size_t n_left, double elapsed_s) {
  const double rate = static_cast<double>(n_done) / std::max(elapsed_s, 1e-9);
  return fmt::format("{} of {} points, {:.3g} a second, {:.0f} s left", n_done, n_done + n_left, rate,
                     static_cast<double>(n_left) / rate);
}

// The jobs whose points the database lacks: all points of a job are there, or none is.
std::vector<SweepJob> missing_jobs(std::vector<SweepJob> jobs, SweepDatabase& database) {
  const std::vector<std::size_t> known = database.known_points();
  std::erase_if(
      jobs, [&](const SweepJob& job) { return std::ranges::binary_search(known, job.points.front().point); });
  return jobs;
}

std::string python_for(const SweepArguments& arguments) {
  if (!arguments.ray) return "";
  if (arguments.ray->empty())
    throw std::invalid_argument(
        R"(--ray: expected the address of a cluster, such as auto or 10.0.0.1:6379, got "")");
  return python_with_ray();
}

std::string where_text(const SweepArguments& arguments, int n_threads) {
  if (arguments.ray) return "on the Ray cluster " + printable_name(*arguments.ray);
  return fmt::format("on {} thread{}", n_threads, n_threads == 1 ? "" : "s");
}

void sweep(const SweepArguments& arguments, const CommandContext& context) {
  const Stopwatch watch;
  const int n_threads = usable_threads(arguments.threads);
  const Shard shard = shard_of(arguments.shard);
  const DataPaths data{.root = context.data_root};
  const Grid grid =
      read_grid({.path = arguments.grid, .varied = arguments.varied, .settings = arguments.settings}, data);
  const std::string python = python_for(arguments);
  const SweepFacts facts = sweep_facts(grid, data, context.version, arguments.shard);
  const auto open = [&] {
    return std::make_unique<SweepDatabase>(arguments.out, facts, point_columns(grid));
  };
  std::unique_ptr<SweepDatabase> database = open();
  for (const std::string& path : arguments.merged) {
    const WholeOutputs whole;
    database->merge(path);
  }
  std::vector<SweepJob> jobs = jobs_of(grid, shard);
  const std::size_t n_asked = count_points(jobs);
  jobs = missing_jobs(std::move(jobs), *database);
  const std::size_t n_missing = count_points(jobs);
  if (arguments.ray && n_missing > 0) {
    database.reset();  // Python writes it meanwhile, and opens it only if it has the same facts
    sweep_on_ray(python, {.address = *arguments.ray,
                          .grid = arguments.grid,
                          .varied = arguments.varied,
                          .settings = arguments.settings,
                          .out = arguments.out,
                          .quiet = arguments.quiet});
    database = open();
    jobs = missing_jobs(std::move(jobs), *database);
  }

  Progress progress(arguments.quiet);
  std::size_t n_done = 0;
  run_sweep({.grid = grid, .jobs = jobs, .data = data, .n_threads = n_threads},
            [&](const std::vector<PointRow>& rows) {
              const WholeOutputs whole;
              database->add(rows);
              n_done += rows.size();
              progress.say(rate_text(n_done, n_missing - n_done, watch.seconds()));
            });
  {
    const WholeOutputs whole;
    database->close();
  }
  if (arguments.quiet) return;
  print_out("{}", sweep_summary(*database, grid, terminal_width_columns()));
  print_out("\n{} points computed in {:.1f} s {}, {} were there.\nDatabase: {} (SQLite; docs/sweep.md)\n",
            n_missing, watch.seconds(), where_text(arguments, n_threads), n_asked - n_missing, arguments.out);
}

}  // namespace

void add_sweep_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command = app.add_subcommand(
      "sweep", "Simulate a grid of scenarios into a database; started again, it goes on where it was");
  command->add_option("grid", arguments->grid, "Grid file, scenario file, or the name of a shipped scenario")
      ->required();
  command
      ->add_option(
          "--vary", arguments->varied,
          "Values of a key of the scenario, or of strategy: cluster.nodes=1,2,4; again for more keys, "
          "which are crossed")
      ->type_name("KEY=VALUE,...")
      ->allow_extra_args(false);
  command->add_option("--set", arguments->settings, "Change all scenarios before they are read")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--out", arguments->out, "SQLite database for the points")->capture_default_str();
  CLI::Option* shard =
      command
          ->add_option("--shard", arguments->shard,
                       "Only every N-th scenario of the grid from the I-th on, for a database of its own")
          ->type_name("I/N");
  command
      ->add_option(
          "--merge", arguments->merged,
          "Take the points of this database, such as a shard's, before computing what is missing; again "
          "for more")
      ->type_name("DATABASE")
      ->allow_extra_args(false);
  CLI::Option* threads = command
                             ->add_option("--threads", arguments->threads,
                                          "Scenarios that are simulated at the same time, 0 for one on each "
                                          "core; points do not depend on it")
                             ->check(CLI::Range(0, 1024))
                             ->capture_default_str();
  command
      ->add_option(
          "--ray", arguments->ray,
          "Compute the points on the Ray cluster of this address, such as auto, with a Python that has "
          "packsim and ray: $PACKSIM_PYTHON, one beside the program, or python3")
      ->type_name("ADDRESS")
      ->excludes(shard)
      ->excludes(threads);
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors");
  command->callback([arguments, context] { sweep(*arguments, context); });
}

}  // namespace packsim
