#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scenario_argument.hpp"
#include "cli/shared/terminal.hpp"
#include "experiment/advice/advise.hpp"
#include "reports/advice/advice_text.hpp"

namespace packsim {
namespace {

struct AdviseArguments {
  ScenarioArgument scenario;
  std::string strategy;
  int threads = 1;
  bool json = false;
  bool quiet = false;
};

void give_advice(const AdviseArguments& arguments, const CommandContext& context) {
  const auto load = [&](const Settings& changes) {
    return load_scenario(with_settings(arguments.scenario, changes), context);
  };
  Progress progress(arguments.quiet);
  const Advice advice = advise(
      load, arguments.strategy, arguments.threads, [&](const std::string& what) { progress.say(what); },
      [&](double work_s) {
        if (!arguments.quiet) announce_long_work(work_s / arguments.threads);
      });
  if (arguments.json) {
    print_exact(advice_json(advice));
  } else if (!arguments.quiet) {
    print_out("{}", advice_text(advice, terminal_width_columns()));
  }
}

}  // namespace

void add_advise_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<AdviseArguments>();
  CLI::App* command = app.add_subcommand(
      "advise", "What one change of hardware, framework or plan would save, each simulated");
  add_scenario_argument(*command, arguments->scenario);
  command->add_option(
      "--strategy", arguments->strategy,
      "Name of the strategy in the scenario; default: the fastest of those that are comparable");
  command->add_option("--threads", arguments->threads, "Changes that are simulated at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print JSON");
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors, and the JSON with --json");
  command->callback([arguments, context] { give_advice(*arguments, context); });
}

}  // namespace packsim
