#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/terminal.hpp"
#include "reports/saved/explain.hpp"

namespace packsim {
namespace {

struct ExplainArguments {
  std::string report;
  std::string first;
  std::string second;
  bool json = false;
};

void explain_difference(const ExplainArguments& arguments) {
  const SavedReport report = load_report(arguments.report);
  const Explanation explanation = explain(report, arguments.first, arguments.second);
  if (arguments.json) {
    print_exact(explanation_json(explanation));
  } else {
    print_out("{}", explanation_text(explanation, terminal_width_columns()));
  }
}

}  // namespace

void add_explain_command(CLI::App& app, const CommandContext&) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand(
      "explain", "Why one strategy of a report takes more GPU time than another, by what GPUs do");
  command->add_option("report", arguments->report, "report.json, or the folder that it is in")->required();
  command->add_option("first", arguments->first, "Name of a run in the report")->required();
  command->add_option("second", arguments->second, "The run to compare with it")->required();
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments] { explain_difference(*arguments); });
}

}  // namespace packsim
