#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>

#include "cli/commands.hpp"
#include "cli/shared/bus_error_guard.hpp"
#include "cli/shared/free_memory.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/normaliser_option.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scenario_argument.hpp"
#include "cli/shared/terminal.hpp"
#include "experiment/advice/change_that_fits.hpp"
#include "experiment/compare_strategies.hpp"
#include "experiment/peak_memory.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "experiment/plans/plan_of_file.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "files/shell_quoted.hpp"
#include "reports/formats/formats.hpp"
#include "reports/formats/terminal_format.hpp"
#include "reports/text/display_width.hpp"
#include "reports/text/text_table.hpp"
#include "reports/verdict/verdict.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

// What --wide, --columns, --explain and --color say.
struct TableArguments {
  bool wide = false;
  std::vector<std::string> columns;
  bool explain = false;
  std::string colour = "auto";
};

struct CompareArguments {
  ScenarioArgument scenario;
  std::vector<std::string> strategies;  // empty: all
  std::string out = "packsim-report";
  bool json = false;
  bool quiet = false;
  int threads = 1;
  std::string level = "step";
  std::string plan;        // schedule file to simulate; empty: the scenario's strategies
  std::string write_plan;  // file for the schedule; empty: none is written
  std::string normaliser;  // for the loss weights in that file
  TableArguments table;
};

std::vector<Column> chosen_columns(const std::vector<std::string>& names) {
  std::vector<Column> columns;
  std::string mistakes;
  for (const std::string& name : names) {
    if (const std::optional<Column> column = column_named(name)) {
      columns.push_back(*column);
    } else {
      mistakes += fmt::format("{}--columns: expected the title or key of a column, got {} ({})",
                              mistakes.empty() ? "" : "\n", quote(name),
                              suggest(name, column_names(), "docs/metrics.md"));
    }
  }
  if (!mistakes.empty()) throw std::invalid_argument(mistakes);
  return columns;
}

void add_table_options(CLI::App& command, TableArguments& arguments) {
  CLI::Option* wide =
      command.add_flag("--wide", arguments.wide, "Print all columns and all tables, however wide");
  command
      .add_option(
          "--columns", arguments.columns,
          "Print these columns, separated by commas: titles, also with their units, or keys of report.csv")
      ->delimiter(',')
      ->excludes(wide);  // by name it would end the program without memory: CLI11 looks names up in a
                         // noexcept function
  command.add_flag("--explain", arguments.explain, "Print what each column means");
  command
      .add_option(
          "--color", arguments.colour,
          "auto: colours on a terminal, unless TERM=dumb or NO_COLOR is set; CLICOLOR_FORCE=1 forces them")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

// For this terminal. Throws std::invalid_argument with every column that does not exist.
TerminalOptions terminal_options(const TableArguments& arguments) {
  return {.width_columns = terminal_width_columns(),
          .wide = arguments.wide,
          .columns = chosen_columns(arguments.columns),
          .explain = arguments.explain,
          .colour = wants_colour(arguments.colour, stdout_is_terminal())};
}

// A trainer would refuse the schedule, as lengths at its sample numbers are not those of the data set.
void warn_of_data_order(const CompareArguments& arguments, const Scenario& scenario) {
  if (arguments.write_plan.empty() || arguments.quiet || keeps_data_order(scenario.lengths)) return;
  print_error(
      "WARNING {} will not fit a data set in the order of the length files, as the scenario shuffles or "
      "draws\n"
      "  samples; with --set lengths.shuffle=false, and without counts and weights of sources, it will\n",
      arguments.write_plan);
}

void expect_outputs(const CompareArguments& arguments, const Outputs& outputs) {
  std::vector<std::string> names;
  for (const ReportFormat& format : report_formats()) names.emplace_back(format.file_name);
  outputs.expect({arguments.write_plan}, arguments.out, names);
}

Report run(const CompareArguments& arguments, const CommandContext& context, Progress& progress) {
  Scenario scenario = load_scenario(arguments.scenario, context);
  expect_outputs(arguments, context.outputs);
  RunOptions options{.n_threads = arguments.threads,
                     .level = arguments.level == "op" ? Level::op : Level::step,
                     .progress = [&](const std::string& what) { progress.say(what); }};
  const auto n_strategies = static_cast<double>(arguments.strategies.empty() ? scenario.strategies.size()
                                                                             : arguments.strategies.size());
  const double n_threads = std::min<double>(arguments.threads, n_strategies);
  options.most_step_bytes = free_memory_bytes() / n_threads;
  options.estimated = [&](double work_s) {
    if (!arguments.quiet) announce_long_work(work_s / n_threads);
  };
  if (!arguments.plan.empty()) {
    const BusErrorGuard guard(arguments.plan);
    return replay_schedule_file(scenario, arguments.plan, options);
  }
  keep_strategies(scenario, arguments.strategies);
  warn_of_data_order(arguments, scenario);
  if (!arguments.write_plan.empty()) {
    options.planned = [&](const StrategySpec& spec, const PlannedStrategy& plan,
                          std::span<const std::int32_t> lengths_tokens) {
      progress.say("writing " + arguments.write_plan);
      const auto bytes =
          plan_file_of(scenario, spec, plan, lengths_tokens, context.version, arguments.normaliser);
      context.outputs.write(arguments.write_plan, bytes);
    };
  }
  Report report = compare_strategies(scenario, options);
  report.fitting = change_that_fits(
      [&](const Settings& changes) {
        return load_scenario(with_settings(arguments.scenario, changes), context);
      },
      report, options.progress);
  return report;
}

// A command on one line if that is as wide as the terminal, or else on two.
std::string command_lines(const std::string& command, const std::string& options, int width_columns) {
  const bool fits =
      formats_detail::display_columns(command + options) + 3 <= static_cast<std::size_t>(width_columns);
  return fmt::format("  {}{}{}\n", command, fits ? " " : " \\\n    ", options);
}

// What to do with the report: of a shipped scenario, one of the user's own job; of that, its schedule.
std::string next_steps(const CompareArguments& arguments, const Report& report, const std::string& program,
                       int width_columns) {
  if (!is_path(arguments.scenario.path) && !is_standard_input(arguments.scenario.path)) {
    return "Next, your own job:\n" + command_lines(program + " new --model config.json",
                                                   "--lengths lengths.npy --out my.json", width_columns);
  }
  const std::string advised = verdict(report).advised;
  if (report.mixture) return "Next, train with this mixture: MixtureLoader (docs/mixing_in_training.md)\n";
  if (advised.empty() || !arguments.write_plan.empty() || !arguments.plan.empty() ||
      is_standard_input(arguments.scenario.path))
    return "";
  return "Next, a schedule for your trainer:\n" +
         command_lines(fmt::format("{} run {}", program, shell_text(arguments.scenario)),
                       fmt::format("--strategy {} --write-plan my.plan", shell_quoted(advised)),
                       width_columns);
}

void compare(const CompareArguments& arguments, const CommandContext& context) {
  const Stopwatch watch;
  const TerminalOptions terminal = terminal_options(arguments.table);  // mistakes in it come before the work
  std::optional<Progress> progress(arguments.quiet);
  Report report = run(arguments, context, *progress);
  report.manifest.version = context.version;
  report.manifest.command = context.command_line;
  report.total_s = watch.seconds();
  report.peak_memory_bytes = peak_memory_bytes();
  const auto files =
      report_files(report, [&](std::string_view name) { progress->say(fmt::format("writing {}", name)); });
  context.outputs.write(arguments.out, files);
  progress.reset();

  if (arguments.json) {
    print_exact(to_json(report) + "\n");
  } else if (!arguments.quiet) {
    print_exact(to_terminal(report, terminal));
    print_out("\n{}",
              formats_detail::wrapped(
                  fmt::format("Report: {}/report.html, beside it report.json, report.csv, charts.json",
                              arguments.out),
                  terminal.width_columns, 2));
    print_out("Took {:.1f} s on {} thread{}, peak memory {:.0f} MB.\n", report.total_s, arguments.threads,
              arguments.threads == 1 ? "" : "s", static_cast<double>(report.peak_memory_bytes) / 1e6);
    print_out("{}", next_steps(arguments, report, context.program, terminal.width_columns));
  }
}

void add_report_options(CLI::App& command, CompareArguments& arguments, Outputs& outputs) {
  add_scenario_argument(command, arguments.scenario);
  command
      .add_option("--out", arguments.out, "Folder for report.json, report.csv, report.html and charts.json")
      ->capture_default_str();
  command
      .add_option(
          "--level", arguments.level,
          "step: all that a rank does between two synchronisations is one operation. op: runs of kernels, "
          "collectives and transfers are operations, and transfers share links; tens of times slower")
      ->check(member_check({"step", "op"}))
      ->capture_default_str();
  add_table_options(command, arguments.table);
  outputs.add_force_option(command);
  command.add_flag("--json", arguments.json, "Print report.json on stdout instead of the table");
  command.add_flag("--quiet", arguments.quiet, "Print nothing but errors, and the JSON with --json");
}

}  // namespace

void add_compare_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command =
      app.add_subcommand("compare", "Pack and simulate every strategy of a scenario, and compare them");
  add_report_options(*command, *arguments, context.outputs);
  command->add_option("--strategy", arguments->strategies,
                      "Only this strategy of the scenario (may be repeated)");
  command
      ->add_option("--threads", arguments->threads,
                   "Number of strategies to run at the same time; results do not depend on it")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->callback([arguments, context] { compare(*arguments, context); });
}

void add_run_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand("run", "Pack and simulate one strategy of a scenario");
  add_report_options(*command, *arguments, context.outputs);
  CLI::Option* strategy =
      command->add_option("--strategy", arguments->strategies, "Name of the strategy in the scenario")
          ->expected(1);
  CLI::Option* plan = command->add_option(
      "--plan", arguments->plan,
      "Simulate this schedule file on the scenario's model and cluster, in place of its data and strategies");
  CLI::Option* write_plan = command->add_option("--write-plan", arguments->write_plan,
                                                "Write the schedule for a trainer to this file");
  add_normaliser_option(*command, arguments->normaliser)->needs(write_plan);
  plan->excludes(strategy)->excludes(write_plan);
  command->callback([arguments, context] {
    if (arguments->strategies.empty() == arguments->plan.empty())
      throw std::invalid_argument("run: expected --strategy or --plan, got neither");
    compare(*arguments, context);
  });
}

}  // namespace packsim
