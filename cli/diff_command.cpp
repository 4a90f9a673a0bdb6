#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "cli/shared/child_process.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/terminal.hpp"
#include "reports/saved/diff.hpp"

namespace packsim {
namespace {

constexpr int kGotWorse = 1;

struct DiffArguments {
  std::string before;
  std::string now;
  std::optional<double> most_percent;
  bool json = false;
};

void compare_reports(const DiffArguments& arguments) {
  const SavedReport before = load_report(arguments.before);
  const SavedReport now = load_report(arguments.now);
  const ReportDiff found = diff(before, now);
  if (arguments.json) {
    print_exact(diff_json(found));
  } else {
    print_out("{}", diff_text(found, terminal_width_columns()));
  }
  if (!arguments.most_percent) return;
  const std::vector<std::string> worse = regressions(found, *arguments.most_percent / 100);
  for (const std::string& run : worse) print_error("{}\n", run);
  if (!worse.empty()) throw ExitCode{kGotWorse};
}

}  // namespace

void add_diff_command(CLI::App& app, const CommandContext&) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App* command =
      app.add_subcommand("diff", "What differs between two reports: the job, and the GPU-days of each run");
  command->add_option("before", arguments->before, "report.json, or the folder that it is in")->required();
  command->add_option("now", arguments->now, "The report to compare with it")->required();
  command
      ->add_option(
          "--fail-above", arguments->most_percent,
          "End with 1 if a run takes more GPU-days by more than this percentage, no longer fits, or is "
          "gone")
      ->check(CLI::Range(0.0, 1e6));
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments] { compare_reports(*arguments); });
}

}  // namespace packsim
