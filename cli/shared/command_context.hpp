#pragma once

#include <string>

#include "cli/shared/outputs.hpp"

namespace packsim {

/// What every command shares.
struct CommandContext {
  std::string command_line;  ///< as typed, for the manifest
  std::string version;
  std::string program = "packsim";  ///< how it was called, for commands that are printed
  std::string data_root;            ///< where models, clusters, profiles and scenarios are found
  Outputs& outputs;
};

}  // namespace packsim
