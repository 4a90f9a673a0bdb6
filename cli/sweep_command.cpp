#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/shared/child_process.hpp"
#include "cli/shared/interrupts.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/pythons.hpp"
#include "cli/shared/terminal.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "files/file_error.hpp"
#include "files/inputs.hpp"
#include "files/shell_quoted.hpp"
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

// No module comes from the folder that Python is started in.
constexpr const char* kPath = "import sys\nsys.path[:] = [folder for folder in sys.path if folder]\n";

// Writes what is missing, with commas between. Nothing is imported but packsim: importing Ray takes seconds.
constexpr const char* kProbe = R"(
from importlib.util import find_spec
def lacks(module):
    try:
        return find_spec(module) is None
    except ImportError:
        return True
needed = {'packsim': 'packsim', 'packsim._simulator': 'simulator in packsim', 'ray': 'ray'}
print(', '.join('no ' + what for module, what in needed.items() if lacks(module)), end='')
)";

constexpr const char* kCommand = "from packsim.ray.command import main\nsys.exit(main())\n";

[[noreturn]] void refuse_pythons(const std::vector<std::string>& pythons,
                                 const std::vector<std::string>& lacks) {
  if (pythons.empty())
    throw std::runtime_error("--ray: expected a Python with packsim and ray, got no python3");
  std::vector<std::string> texts;
  for (std::size_t p = 0; p < pythons.size(); ++p) texts.push_back(pythons[p] + " " + lacks[p]);
  throw std::runtime_error(
      fmt::format("--ray: expected a Python with packsim, its simulator and ray, and {}. Install them in the "
                  "source folder of packsim with\n  PACKSIM_PROGRAM=1 {} -m pip install '.[ray]'{}",
                  fmt::join(texts, ", "), shell_quoted(pythons.front()),
                  is_python_set() ? "" : "\nor set PACKSIM_PYTHON to another Python"));
}

// The first of python_interpreters() that has the package packsim with its simulator, and Ray. Throws as that
// does, and std::runtime_error that says what each of them lacks and what to install.
std::string python_with_ray() {
  const std::vector<std::string> pythons = python_interpreters("");
  std::vector<std::string> lacks;
  for (const std::string& python : pythons) {
    const ChildOutput child = run_with_input(python, {"-c", std::string(kPath) + kProbe}, "");
    if (child.exit_code > 128) throw ExitCode{child.exit_code};
    if (child.exit_code == 0 && child.out.empty()) return python;
    lacks.push_back(child.exit_code == 0 ? "has " + child.out
                                         : fmt::format("failed with {}", child.exit_code));
  }
  refuse_pythons(pythons, lacks);
}

// Has the points that the database, which nobody else may have open, lacks computed on the cluster by
// packsim.ray.sweep(), which adds them. Throws ExitCode where that fails, after it has said why.
void sweep_on_ray(const std::string& python, const SweepArguments& sweep) {
  std::vector<std::string> words = {python, "-c", std::string(kPath) + kCommand};
  words.push_back("--address=" + *sweep.ray);
  words.push_back("--out=" + sweep.out);
  for (const std::string& varied : sweep.varied) words.push_back("--vary=" + varied);
  for (const std::string& setting : sweep.settings) words.push_back("--set=" + setting);
  if (sweep.quiet) words.emplace_back("--quiet");
  words.emplace_back("--");
  words.push_back(sweep.grid);
  std::string command_line = "exec";  // so that signals that are passed on reach Python
  for (const std::string& word : words) command_line += " " + shell_quoted(word);
  if (const int code = run_and_wait(command_line); code != 0) throw ExitCode{code};
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

// --force lets a new database replace another file, or the database of another sweep.
template <typename Open>
std::unique_ptr<SweepDatabase> open_first(const Open& open, const SweepArguments& arguments,
                                          Outputs& outputs) {
  for (const std::string& path : arguments.merged) keep_input(path);  // which are read later
  if (is_kept_input(arguments.out)) throw std::invalid_argument(input_mistake(arguments.out));
  try {
    return open();
  } catch (const UnusableFileError& error) {
    if (!outputs.is_forced())
      throw std::invalid_argument(fmt::format("{}\n--force replaces it", error.what()));
  }
  outputs.remove(arguments.out);
  return open();
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
  std::unique_ptr<SweepDatabase> database = open_first(open, arguments, context.outputs);
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
    sweep_on_ray(python, arguments);
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
  context.outputs.add_force_option(*command);
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors");
  command->callback([arguments, context] { sweep(*arguments, context); });
}

}  // namespace packsim
