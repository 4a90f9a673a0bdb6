#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "cli/commands.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/upper.hpp"
#include "cli/shell/command_tree.hpp"

namespace packsim {
namespace {

// Text of a line of roff: no escape, no request at its start, dashes as they are typed.
std::string roff(const std::string& text) {
  std::string shown;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) shown += "\\&";
    if (c == '\\') {
      shown += "\\e";
    } else if (c == '-') {
      shown += "\\-";
    } else if (c == '\n') {
      shown += "\n.br\n";
    } else if (!(starts_line && c == ' ')) {
      shown += c;
    }
    starts_line = c == '\n' || (starts_line && c == ' ');
  }
  return shown;
}

std::string synopsis(const CommandNode& node) {
  std::string text = "packsim " + node.name;
  if (!node.children.empty()) text += " COMMAND";
  for (const CommandOption& option : node.options) {
    if (option.is_positional || option.is_required)
      text += " " + option.names.front() +
              (option.is_positional ? "" : " " + upper(option.names.front().substr(2)));
  }
  return text + " [options]";
}

// What a value may be: "INT:INT in [1 - 8]" without the type in front, and a list of words that lines can
// break in.
std::string value_text(const std::string& value) {
  std::string text;
  for (const char c : value.substr(value.find(':') + 1))  // npos + 1 is 0
    text += c == ',' ? std::string(", ") : std::string(1, c);
  return text;
}

std::string option_text(const CommandOption& option) {
  std::string text = fmt::format(".TP\n\\fB{}\\fR", roff(fmt::format("{}", fmt::join(option.names, ", "))));
  if (!option.value.empty() && !option.is_positional)
    text += fmt::format(" \\fI{}\\fR", roff(value_text(option.value)));
  text += "\n" + roff(option.description.empty() ? option.names.front() : option.description) + "\n";
  if (!option.fallback.empty()) text += fmt::format(".br\nDefault: {}.\n", roff(option.fallback));
  return text;
}

// In the man macros.
std::string man_page(std::span<const CommandNode> tree, const std::string& version) {
  std::string text = fmt::format(".TH PACKSIM 1 \"\" \"packsim {}\" \"User Commands\"\n", roff(version));
  text += ".ad l\n.nh\n";  // names are neither stretched nor cut
  text += ".SH NAME\npacksim \\- compare packing and parallel plans of LLM fine-tuning before it runs\n";
  text += ".SH SYNOPSIS\n.B packsim\n\\fICOMMAND\\fR [\\fIoptions\\fR]\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", roff(tree.front().description));
  for (const CommandNode& node : tree) {
    if (node.name.empty()) continue;
    text += fmt::format(".SS \"{}\"\n{}\n", roff(synopsis(node)), roff(node.description));
    for (const CommandOption& option : node.options) text += option_text(option);
  }
  text +=
      ".SH EXIT STATUS\n0 done; 2 a mistake in what it was given; 3 the machine failed; 70 a bug in "
      "packsim.\n";
  text += ".SH ENVIRONMENT\n.TP\n\\fBPACKSIM_DATA\\fR\nFolder of models, clusters, profiles and scenarios.\n";
  return text;
}

}  // namespace

void add_man_command(CLI::App& app, const CommandContext& context) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page packsim(1)");
  command->callback([&app, context] {
    print_exact(man_page(command_tree(app, {.root = context.data_root}), context.version));
  });
}

}  // namespace packsim
