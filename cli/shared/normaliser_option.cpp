#include "cli/shared/normaliser_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/shared/member_check.hpp"
#include "packing/loss/normalisers.hpp"

namespace packsim {

CLI::Option* add_normaliser_option(CLI::App& command, std::string& normaliser) {
  std::vector<std::string> names;
  std::string help = "Of the loss weights in the plan file:";
  for (const Normaliser& row : normalisers()) {
    names.emplace_back(row.name);
    help += fmt::format("\n  {}: {}", row.name, row.summary);
  }
  normaliser = names.front();
  return command.add_option("--normaliser", normaliser, help)
      ->check(member_check(names))
      ->capture_default_str();
}

}  // namespace packsim
