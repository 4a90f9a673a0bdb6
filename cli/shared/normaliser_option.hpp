#pragma once

#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace packsim {

/// Adds --normaliser, with every normaliser in its help; the first one is the default.
CLI::Option* add_normaliser_option(CLI::App& command, std::string& normaliser);

}  // namespace packsim
