#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "cli/shell/completion.hpp"
#include "cli/shell/man_page.hpp"

namespace packsim {

void add_completion_command(CLI::App& app, const CommandContext& context) {
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes commands in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(member_check({"bash", "zsh", "fish"}));
  command->callback([&app, shell, context] {
    const std::vector<CommandNode> tree = command_tree(app, {.root = context.data_root});
    print_exact(*shell == "fish"  ? fish_completion(tree)
                : *shell == "zsh" ? zsh_completion(tree)
                                  : bash_completion(tree));
  });
}

void add_man_command(CLI::App& app, const CommandContext& context) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page packsim(1)");
  command->callback([&app, context] {
    print_exact(man_page(command_tree(app, {.root = context.data_root}), context.version));
  });
}

}  // namespace packsim
