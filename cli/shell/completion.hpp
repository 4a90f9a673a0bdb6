#pragma once

#include <span>
#include <string>

#include "cli/shell/command_tree.hpp"

namespace packsim {

/// Scripts that complete commands, options and their values: `source <(packsim completion bash)`.
std::string bash_completion(std::span<const CommandNode> tree);
/// The one of bash, by zsh's own bashcompinit.
std::string zsh_completion(std::span<const CommandNode> tree);
std::string fish_completion(std::span<const CommandNode> tree);

}  // namespace packsim
