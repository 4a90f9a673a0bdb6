#include "cli/program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"
#include "cli/shared/child_process.hpp"
#include "cli/shared/data_root.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/interrupts.hpp"
#include "cli/shared/print.hpp"
#include "files/file_error.hpp"
#include "reports/text/escape.hpp"
#include "scenarios/loader/json/problems.hpp"

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

int run_commands(int argc, char** argv) {
  const CommandContext context{.command_line = quoted_command_line(argc, argv),
                               .version = PACKSIM_VERSION,
                               .data_root = find_data_root()};
  CLI::App app(
      "packsim: how should mixed-length data be packed and parallelised on these GPUs, and what will it "
      "cost?",
      "packsim");
  app.set_version_flag("--version", std::string("packsim ") + PACKSIM_VERSION);
  app.require_subcommand(1);
  for (const auto add_command : kCommands) add_command(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    app.exit(done);
  } catch (const CLI::ParseError& error) {
    print_error("packsim: {}\nRun packsim --help for the commands, packsim COMMAND --help for one.\n",
                error.what());
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
    for (const std::string& message : error.messages())
      print_error("{}\n", formats_detail::printable(message));
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
