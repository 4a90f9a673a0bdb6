#include "cli/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/shared/child_process.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/interrupts.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/upper.hpp"
#include "files/file_error.hpp"
#include "files/inputs.hpp"
#include "files/shell_quoted.hpp"
#include "files/text/printable.hpp"
#include "files/version.hpp"
#include "scenarios/loader/data_root.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

constexpr int kOurMistake = 70;

std::string quoted_command_line(int argc, char** argv) {
  std::string line = "packsim";
  for (int i = 1; i < argc; ++i) line += " " + shell_quoted(argv[i]);
  return line;
}

int report_our_mistake(const std::exception& error, int argc, char** argv) {
  print_error("packsim: internal error: {}\nPlease report it with this command, which replays it: {}\n",
              error.what(), quoted_command_line(argc, argv));
  return kOurMistake;
}

// What is wrong with the command, or with the command of `calibrate`, as far as words name them; empty where
// nothing is.
std::string command_mistake(const CLI::App& app, int argc, char** argv) {
  const CLI::App* group = &app;
  for (int i = 1; !group->get_subcommands({}).empty(); ++i) {
    std::vector<std::string> names;
    for (const CLI::App* command : group->get_subcommands({})) names.push_back(command->get_name());
    if (i == argc) return fmt::format("expected a command, got none ({})", suggest("", names));
    const std::string word = argv[i];
    if (word.starts_with('-')) return "";
    if (std::ranges::find(names, word) == names.end())
      return fmt::format("unknown command {} ({})", quote(word), suggest(word, names));
    group = group->get_subcommand(word);
  }
  return "";
}

// What the command line has that no command takes: unknown options with the option that was probably meant,
// else arguments that are one too many.
std::string extra_mistake(CLI::App& app) {
  const std::string where = app.get_parent() == nullptr ? "" : " of packsim " + app.get_name();
  std::vector<std::string> options;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  std::vector<std::string> unknown;
  std::vector<std::string> others;
  for (const std::string& word : app.remaining()) {
    const std::string name = word.substr(0, word.find('='));
    if (!word.starts_with('-') || word == "-") {
      others.push_back(quote(word));
    } else {
      unknown.push_back(fmt::format("unknown option {}{} ({})", quote(name), where, suggest(name, options)));
    }
  }
  for (CLI::App* command : app.get_subcommands()) {
    if (const std::string mistake = extra_mistake(*command); !mistake.empty()) unknown.push_back(mistake);
  }
  if (!unknown.empty()) return fmt::format("{}", fmt::join(unknown, "\npacksim: "));
  if (others.empty()) return "";
  return fmt::format("expected no more arguments{}, got {}", where, join(others));
}

// "calibrate fit".
std::string command_name(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  const bool is_inner = parent != nullptr && parent->get_parent() != nullptr;
  return (is_inner ? command_name(*parent) + " " : "") + app.get_name();
}

// What a command takes and lacks: "diff takes BEFORE and NOW; NOW is missing: ..."; empty if it lacks
// nothing.
std::string missing_mistake(const CLI::App& app) {
  std::vector<std::string> taken;
  std::string lacking;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional() || !option->get_required()) continue;
    taken.push_back(upper(option->get_name(true)));
    if (option->count() == 0 && lacking.empty())
      lacking = fmt::format("{} is missing: {}", taken.back(), option->get_description());
  }
  if (!lacking.empty())
    return fmt::format("{} takes {}; {}", command_name(app), fmt::join(taken, " and "), lacking);
  for (const CLI::App* command : app.get_subcommands()) {
    if (std::string mistake = missing_mistake(*command); !mistake.empty()) return mistake;
  }
  return "";
}

int run_commands(int argc, char** argv) {
  Outputs outputs;
  const CommandContext context{.command_line = quoted_command_line(argc, argv),
                               .version = build_version(),
                               .program = argc > 0 ? shell_quoted(argv[0]) : "packsim",
                               .data_root = find_data_root("/proc/self/exe"),
                               .outputs = outputs};
  const KeptInputs kept_inputs;
  CLI::App app(
      "packsim: how should mixed-length data be packed and parallelised on these GPUs, and what will it "
      "cost?",
      "packsim");
  app.set_version_flag("--version", "packsim " + context.version);
  app.require_subcommand(1);
  for (const auto add_command : kCommands) add_command(app, context);
  try {
    if (const std::string mistake = command_mistake(app, argc, argv); !mistake.empty())
      throw CLI::ParseError(mistake, CLI::ExitCodes::RequiredError);
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    app.exit(done);
  } catch (const CLI::ParseError& error) {
    // An option that is missing may be there with a typing error, which is then what to tell.
    std::string mistake = extra_mistake(app);
    if (mistake.empty() && error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError))
      mistake = missing_mistake(app);
    print_error("packsim: {}\nRun packsim --help for the commands, packsim COMMAND --help for one.\n",
                mistake.empty() ? error.what() : mistake);
    return kUserMistake;
  }
  // An earlier flush that failed shows only in the stream's error indicator.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw FileError("standard output", errno != 0 ? errno : EIO);
  }
  return EXIT_SUCCESS;
}

}  // namespace

int run_program(int argc, char** argv) {
  end_at_interrupts();
  try {
    return run_commands(argc, argv);
  } catch (const ExitCode& ended) {
    return ended.code;
  } catch (const ScenarioError& error) {
    // Each mistake is one line, whatever the names in it are.
    for (const std::string& message : error.messages()) print_error("{}\n", printable(message));
    return kUserMistake;
  } catch (const std::invalid_argument& error) {
    print_error("packsim: {}\n", error.what());
    return kUserMistake;
  } catch (const std::logic_error& error) {
    return report_our_mistake(error, argc, argv);
  } catch (const std::bad_alloc&) {
    print_error("packsim: out of memory\n");
    return kMachineFailure;
  } catch (const std::runtime_error& error) {
    print_error("packsim: {}\n", error.what());
    return kMachineFailure;
  } catch (const std::exception& error) {
    return report_our_mistake(error, argc, argv);
  }
}

}  // namespace packsim
