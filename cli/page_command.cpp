#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"
#include "cli/shared/print.hpp"
#include "files/read_file.hpp"
#include "files/text/printable.hpp"
#include "recommend/recommendation_points.hpp"
#include "reports/planning/planning_page.hpp"
#include "sweep/sweep_points.hpp"

namespace packsim {
namespace {

struct PageArguments {
  std::string sweep;           // empty: none
  std::string recommendation;  // empty: none
  std::string out = "planning.html";
  bool quiet = false;
};

// The points of the sweep, or else the candidates of the recommendation, which adds what it depends on.
PlanningData planning_data(const PageArguments& arguments) {
  if (arguments.recommendation.empty()) {
    if (arguments.sweep.empty())
      throw std::invalid_argument("expected a database of packsim sweep, --recommendation, or both");
    return read_sweep_points(arguments.sweep);
  }
  PlanningData recommended =
      recommendation_points(arguments.recommendation, read_file(arguments.recommendation));
  if (arguments.sweep.empty()) return recommended;
  PlanningData data = read_sweep_points(arguments.sweep);
  data.question = recommended.question;
  data.changes = recommended.changes;
  data.limits = recommended.limits;
  return data;
}

}  // namespace

void add_page_command(CLI::App& app, const CommandContext& context) {
  auto arguments = std::make_shared<PageArguments>();
  CLI::App* command = app.add_subcommand(
      "page", "Write a page on which to pick a cluster among the points of a sweep or a recommendation");
  command->add_option("sweep", arguments->sweep, "Database of packsim sweep");
  command->add_option("--recommendation", arguments->recommendation,
                      "recommendation.json of packsim recommend: what the answer depends on and, without a "
                      "sweep, the points");
  command->add_option("--out", arguments->out, "HTML file, which needs no other file and no network")
      ->capture_default_str();
  context.outputs.add_force_option(*command);
  command->add_flag("--quiet", arguments->quiet, "Print nothing but errors");
  command->callback([arguments, context] {
    const PlanningData data = planning_data(*arguments);
    context.outputs.expect({arguments->out});
    context.outputs.write(arguments->out, planning_page(data));
    if (!arguments->quiet) print_out("{}\n", printable(arguments->out));
  });
}

}  // namespace packsim
