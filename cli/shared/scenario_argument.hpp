#pragma once

#include <string>
#include <vector>

#include "cli/shared/command_context.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/scenario.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace packsim {

/// The scenario that a command is given, and what the command line changes in it.
struct ScenarioArgument {
  std::string path;
  std::vector<std::string> settings;  ///< "KEY=VALUE"
};

/// Adds the positional argument "scenario" and the option --set. `argument` must live as long as the command.
/// or_else: what else the argument may be, for the help.
void add_scenario_argument(CLI::App& command, ScenarioArgument& argument, const std::string& or_else = "");

/// The argument with more settings, which come after its own.
ScenarioArgument with_settings(ScenarioArgument argument, const std::vector<std::string>& more);

/// The scenario and its settings, as they are typed in another command.
std::string shell_text(const ScenarioArgument& argument);

/// Throws as load_scenario() does.
Scenario load_scenario(const ScenarioArgument& argument, const CommandContext& context,
                       MistakenStrategies mistaken = MistakenStrategies::refuse);

}  // namespace packsim
