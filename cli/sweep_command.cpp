#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "cli/commands.hpp"
#include "cli/shared/interrupts.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/terminal.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "files/text/printable.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "sweep/point_columns.hpp"
#include "sweep/read_grid.hpp"
#include "sweep/run_sweep.hpp"
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
  int threads = 0;  // 0: one for each core
  bool quiet = false;
};

// Every n_shards-th job.
struct Shard {
  std::size_t index = 1;
  std::size_t n_shards = 1;
};

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

// The jobs of a shard. Their points are compared with each other, so a job is never divided.
std::vector<SweepJob> jobs_of(const Grid& grid, const Shard& shard) {
  std::vector<std::size_t> points(count_points(grid));
  std::iota(points.begin(), points.end(), std::size_t{0});
  const std::vector<SweepJob> all = jobs_of(grid, points);
  std::vector<SweepJob> jobs;
  for (std::size_t j = shard.index - 1; j < all.size(); j += shard.n_shards) jobs.push_back(all[j]);
  return jobs;
}

std::size_t count_points(const std::vector<SweepJob>& jobs) {
  std::size_t n = 0;
  for (const SweepJob& job : jobs) n += job.points.size();
  return n;
}

std::string rate_text(std::size_t n_done, std::size_t n_left, double elapsed_s) {
  const double rate = static_cast<double>(n_done) / std::max(elapsed_s, 1e-9);
  return fmt::format("{} of {} points, {:.3g} a second, {:.0f} s left", n_done, n_done + n_left, rate,
                     static_cast<double>(n_left) / rate);
}

int threads_of(const SweepArguments& arguments) {
  if (arguments.threads > 0) return arguments.threads;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

void sweep(const SweepArguments& arguments, const CommandContext& context) {
  const Stopwatch watch;
  const int n_threads = threads_of(arguments);
  const Shard shard = shard_of(arguments.shard);
  const DataPaths data{.root = context.data_root};
  const Grid grid = read_grid(arguments.grid, arguments.varied, arguments.settings, data);
  SweepDatabase database(arguments.out, sweep_facts(grid, data, context.version, arguments.shard),
                         point_columns(grid));
  for (const std::string& path : arguments.merged) {
    const WholeOutputs whole;
    database.merge(path);
  }
  std::vector<SweepJob> jobs = jobs_of(grid, shard);
  const std::size_t n_asked = count_points(jobs);
  const std::vector<std::size_t> known = database.known_points();
  // All points of a job are there, or none is.
  std::erase_if(
      jobs, [&](const SweepJob& job) { return std::ranges::binary_search(known, job.points.front().point); });
  const std::size_t n_missing = count_points(jobs);

  Progress progress(arguments.quiet);
  std::size_t n_done = 0;
  run_sweep({.grid = grid, .jobs = jobs, .data = data, .n_threads = n_threads},
            [&](const std::vector<PointRow>& rows) {
              const WholeOutputs whole;
              database.add(rows);
              n_done += rows.size();
              progress.say(rate_text(n_done, n_missing - n_done, watch.seconds()));
            });
  {
    const WholeOutputs whole;
    database.close();
  }
  if (arguments.quiet) return;
  print_out("{}", sweep_summary(database, grid, terminal_width_columns()));
  print_out(
      "\n{} points computed in {:.1f} s on {} thread{}, {} were there.\nDatabase: {} (SQLite; "
      "docs/sweep.md)\n",
      n_missing, watch.seconds(), n_threads, n_threads == 1 ? "" : "s", n_asked - n_missing, arguments.out);
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
  command
      ->add_option(
          "--threads", arguments->threads,
          "Scenarios that are simulated at the same time, 0 for one on each core; points do not depend on it")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors");
  command->callback([arguments, context] { sweep(*arguments, context); });
}

}  // namespace packsim
