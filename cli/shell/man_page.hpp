#pragma once

#include <span>
#include <string>

#include "cli/shell/command_tree.hpp"

namespace packsim {

/// The page packsim(1) in the man macros.
std::string man_page(std::span<const CommandNode> tree, const std::string& version);

}  // namespace packsim
