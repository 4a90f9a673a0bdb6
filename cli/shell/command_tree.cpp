#include "cli/shell/command_tree.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "cli/shared/member_check.hpp"
#include "packing/strategy.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"

namespace packsim {
namespace {

// Arguments that name a file of the data root.
struct NamedArgument {
  std::string_view name;
  NamedFiles files;
};

constexpr std::array<NamedArgument, 9> kNamedArguments = {{{"scenario", kScenarioFiles},
                                                           {"--model", kModelFiles},
                                                           {"--gpu", kGpuFiles},
                                                           {"--cluster", kClusterFiles},
                                                           {"--trainer", kTrainerFiles},
                                                           {"--profile", kProfileFiles},
                                                           {"profile", kHardwareProfileFiles},
                                                           {"first", kHardwareProfileFiles},
                                                           {"second", kHardwareProfileFiles}}};

std::vector<std::string> words_of(CLI::Option& option, const std::string& name, const DataPaths& data) {
  std::vector<std::string> words = members_of(option);
  if (words.empty() && name == "--strategy") words = names_in(strategies());
  const auto* const named = std::ranges::find(kNamedArguments, name, &NamedArgument::name);
  if (named != kNamedArguments.end()) words = names_of(named->files, data);
  return words;
}

CommandOption option_of(CLI::Option& option, const DataPaths& data) {
  CommandOption shown;
  shown.is_positional = option.nonpositional() == false;
  for (const std::string& name : option.get_lnames()) shown.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) shown.names.push_back("-" + name);
  if (shown.is_positional) shown.names = {option.get_name(true)};
  const bool is_flag = !shown.is_positional && option.get_expected_max() == 0;
  if (!is_flag) shown.value = option.get_type_name();
  shown.description = option.get_description();
  shown.fallback = option.get_default_str();
  shown.words = words_of(option, shown.names.front(), data);
  shown.has_other_values = members_of(option).empty();
  shown.is_required = option.get_required();
  return shown;
}

void add_commands(CLI::App& app, const std::string& name, const DataPaths& data,
                  std::vector<CommandNode>& tree) {
  CommandNode node{.name = name, .description = app.get_description(), .options = {}, .children = {}};
  for (CLI::Option* option : app.get_options()) node.options.push_back(option_of(*option, data));
  const auto any = [](const CLI::App*) { return true; };
  for (const CLI::App* child : app.get_subcommands(any)) node.children.push_back(child->get_name());
  tree.push_back(std::move(node));
  for (CLI::App* child : app.get_subcommands(any))
    add_commands(*child, name.empty() ? child->get_name() : name + " " + child->get_name(), data, tree);
}

}  // namespace

std::vector<CommandNode> command_tree(CLI::App& app, const DataPaths& data) {
  std::vector<CommandNode> tree;
  add_commands(app, "", data, tree);
  return tree;
}

}  // namespace packsim
