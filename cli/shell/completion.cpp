#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "cli/shell/command_tree.hpp"
#include "files/shell_quoted.hpp"

namespace packsim {
namespace {

// The script looks for the command among the words before, then asks what may follow: after an option with a
// value its words or files, else options, subcommands and the words of positional arguments.
constexpr std::string_view kBashStart =
    R"bash(# Completion of packsim for bash: source <(packsim completion bash)
_packsim() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} name= words= word i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    case " $(_packsim_children "$name") " in *" $word "*) name="${name:+$name }$word" ;; esac
  done
  local files=1 line=$'\n'
  words=$(_packsim_values "$name" "$before")
  word=$?
  if [[ $word != 1 ]]; then
    [[ $word == 0 ]] || files=
  elif [[ $current == -* ]]; then
    words=$(_packsim_options "$name") files=
  else
    words=$(_packsim_positionals "$name") || files=
    words="$(_packsim_children "$name") $words"
  fi
  local IFS=$line
  COMPREPLY=($(compgen -W "${words// /$line}" -- "$current"))
  [[ -z $files ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
)bash";

// A shell function that prints, for a command's name, what `words` gives for it.
template <typename Words>
std::string bash_function(const char* name, std::span<const CommandNode> tree, const Words& words) {
  std::string text = fmt::format("{}() {{\n  case $1 in\n", name);
  for (const CommandNode& node : tree)
    text += fmt::format("    {}) echo {} ;;\n", shell_quoted(node.name), shell_quoted(words(node)));
  return text + "  esac\n}\n";
}

std::string option_names(const CommandNode& node) {
  std::string names;
  for (const CommandOption& option : node.options) {
    if (!option.is_positional)
      names += fmt::format("{}{}", names.empty() ? "" : " ", fmt::join(option.names, " "));
  }
  return names;
}

// Files complete an argument only if its words are not all there can be.
bool takes_files(const CommandNode& node) {
  return std::ranges::any_of(node.options, [](const CommandOption& option) {
    return option.is_positional && option.has_other_values;
  });
}

std::string positional_words(const CommandNode& node) {
  std::vector<std::string> words;
  for (const CommandOption& option : node.options) {
    if (!option.is_positional) continue;
    for (const std::string& word : option.words) {
      if (std::ranges::find(words, word) == words.end()) words.push_back(word);  // two may be of one kind
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// Returns 1 where the word is no option that takes a value, 2 where its words are all there can be.
std::string bash_values(std::span<const CommandNode> tree) {
  std::string text = "_packsim_values() {\n  case \"$1:$2\" in\n";
  for (const CommandNode& node : tree) {
    for (const CommandOption& option : node.options) {
      if (option.is_positional || option.value.empty()) continue;
      for (const std::string& name : option.names)
        text += fmt::format("    {}) echo {}{} ;;\n", shell_quoted(node.name + ":" + name),
                            shell_quoted(fmt::format("{}", fmt::join(option.words, " "))),
                            option.has_other_values ? "" : "; return 2");
    }
  }
  return text + "    *) return 1 ;;\n  esac\n}\n";
}

std::string bash_positionals(std::span<const CommandNode> tree) {
  std::string text = "_packsim_positionals() {\n  case $1 in\n";
  for (const CommandNode& node : tree)
    text += fmt::format("    {}) echo {}{} ;;\n", shell_quoted(node.name),
                        shell_quoted(positional_words(node)), takes_files(node) ? "" : "; return 2");
  return text + "  esac\n}\n";
}

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + "'";
}

// Where the words so far name this command and none of its subcommands.
std::string fish_condition(const CommandNode& node, std::span<const CommandNode> tree) {
  std::string condition;
  if (node.name.empty()) condition = "__fish_use_subcommand";
  for (std::size_t at = 0; at < node.name.size();) {
    const std::size_t end = std::min(node.name.find(' ', at), node.name.size());
    condition += fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ",
                             node.name.substr(at, end - at));
    at = end + 1;
  }
  // `calibrate compare` is not `compare`.
  for (const CommandNode& group : tree) {
    const bool is_other =
        !group.name.empty() && !group.children.empty() && !node.name.starts_with(group.name);
    if (is_other && !node.name.empty()) condition += "; and not __fish_seen_subcommand_from " + group.name;
  }
  if (!node.name.empty() && !node.children.empty())
    condition += fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(node.children, " "));
  return condition;
}

// -r: takes a value; -x: and no file is one.
std::string fish_value(const CommandOption& option, const std::string& words) {
  if (option.value.empty()) return "";
  if (option.words.empty()) return " -r";
  return (option.has_other_values ? " -r -a " : " -x -a ") + words;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string bash_completion(std::span<const CommandNode> tree) {
  return std::string(kBashStart) +
         bash_function(
             "_packsim_children", tree,
             [](const CommandNode& node) { return fmt::format("{}", fmt::join(node.children, " ")); }) +
         bash_function("_packsim_options", tree, option_names) + bash_positionals(tree) + bash_values(tree) +
         "complete -o filenames -F _packsim packsim\n";
}

// By zsh's own bashcompinit.
std::string zsh_completion(std::span<const CommandNode> tree) {
  return "# For zsh: source <(packsim completion zsh)\n"
         "(( $+functions[compdef] )) || { autoload -U +X compinit && compinit }\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_completion(tree);
}

std::string fish_completion(std::span<const CommandNode> tree) {
  std::string text = "# For fish: packsim completion fish | source\n";
  for (const CommandNode& node : tree) {
    const std::string on = fish_quoted(fish_condition(node, tree));
    for (const std::string& child : node.children) {
      const std::string name = node.name.empty() ? child : node.name + " " + child;
      for (const CommandNode& other : tree) {
        if (other.name == name)
          text += fmt::format("complete -c packsim -n {} -f -a {} -d {}\n", on, child,
                              fish_quoted(other.description));
      }
    }
    for (const CommandOption& option : node.options) {
      const std::string words = fish_quoted(fmt::format("{}", fmt::join(option.words, " ")));
      const std::string what = fish_quoted(first_line(option.description));
      if (option.is_positional) {
        if (!option.words.empty())
          text += fmt::format("complete -c packsim -n {}{} -a {} -d {}\n", on,
                              option.has_other_values ? "" : " -f", words, what);
        continue;
      }
      for (const std::string& name : option.names) {
        text +=
            fmt::format("complete -c packsim -n {} {} {}{} -d {}\n", on, name.starts_with("--") ? "-l" : "-s",
                        name.substr(name.starts_with("--") ? 2 : 1), fish_value(option, words), what);
      }
    }
  }
  return text;
}

}  // namespace

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

}  // namespace packsim
