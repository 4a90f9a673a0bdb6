#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "scenarios/loader/schema/schema.hpp"

namespace packsim {

void add_schema_command(CLI::App& app, const CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "schema", "Print the JSON Schema of a kind of file, with which editors complete and check it");
  auto name = std::make_shared<std::string>("scenario");
  command->add_option("kind", *name, "Kind of file")
      ->check(member_check(names_in(file_kinds())))
      ->capture_default_str();
  command->callback([name, context] {
    const auto kind = std::ranges::find(file_kinds(), *name, &FileKind::name);
    print_exact(schema_of(*kind, {.root = context.data_root}).dump(2) + "\n");
  });
}

}  // namespace packsim
