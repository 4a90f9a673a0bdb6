#pragma once

#include <string>
#include <vector>

#include "scenarios/loader/data_paths.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace packsim {

/// An option or a positional argument, as help shows it.
struct CommandOption {
  std::vector<std::string> names;  ///< "--out"; of a positional argument its bare name
  std::string value;               ///< "TEXT"; empty of a flag
  std::string description;
  std::string fallback;            ///< empty if there is none
  std::vector<std::string> words;  ///< that the value may be, or is likely to be
  bool has_other_values = true;    ///< than these
  bool is_positional = false;
  bool is_required = false;
};

/// A command with its options; its subcommands have names like "calibrate fit".
struct CommandNode {
  std::string name;  ///< empty of the program itself
  std::string description;
  std::vector<CommandOption> options;
  std::vector<std::string> children;  ///< last words of their names
};

/// The program and all its commands, each before its subcommands. Words come from the options' checks, the
/// strategies and the files of the data root.
std::vector<CommandNode> command_tree(CLI::App& app, const DataPaths& data);

}  // namespace packsim
