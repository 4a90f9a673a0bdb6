#include "cli/shared/scenario_argument.hpp"

#include <CLI/CLI.hpp>

#include "files/shell_quoted.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {

void add_scenario_argument(CLI::App& command, ScenarioArgument& argument, const std::string& or_else) {
  command
      .add_option("scenario", argument.path,
                  "Scenario file, the name of a shipped one, or - for standard input" + or_else)
      ->required();
  command
      .add_option("--set", argument.settings,
                  "Change the scenario before it is read: training.zero_stage=3, "
                  "strategies.isf.capacity_tokens=64K; again for more")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

ScenarioArgument with_settings(ScenarioArgument argument, const std::vector<std::string>& more) {
  argument.settings.insert(argument.settings.end(), more.begin(), more.end());
  return argument;
}

std::string shell_text(const ScenarioArgument& argument) {
  std::string text = shell_quoted(argument.path);
  for (const std::string& setting : argument.settings) text += " --set " + shell_quoted(setting);
  return text;
}

Scenario load_scenario(const ScenarioArgument& argument, const CommandContext& context,
                       MistakenStrategies mistaken) {
  return load_scenario(argument.path, {.root = context.data_root}, argument.settings, mistaken);
}

}  // namespace packsim
