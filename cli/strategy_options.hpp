#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "packing/strategy.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace packsim {

/// What a command line says of options of strategies, by their names.
using GivenOptions = std::map<std::string_view, std::optional<std::string>>;

/// Adds an argument for every option of every strategy, as its record describes it. `given` must live as long
/// as the command.
void add_strategy_options(CLI::App& command, GivenOptions& given);

/// The options as values. Throws std::invalid_argument naming every argument that the strategy does not read,
/// or whose value it does not accept.
OptionValues values_of(const GivenOptions& given, const Strategy& strategy);

}  // namespace packsim
