#include <CLI/CLI.hpp>

#include "cli/calibrate/commands.hpp"

namespace packsim {

void add_calibrate_command(CLI::App& app, const CommandContext& context) {
  CLI::App* calibrate = app.add_subcommand(
      "calibrate", "Measure a machine, fit a profile to it, and check how accurate the profile is");
  calibrate->require_subcommand(1);
  calibrate->footer(
      "Run them in this order: coverage (lists the kernels that a scenario needs and a profile lacks), plan, "
      "run, fit, validate, compare.");
  add_calibrate_plan_command(*calibrate, context);
  add_calibrate_run_command(*calibrate, context);
  add_calibrate_fit_command(*calibrate, context);
  add_calibrate_validate_command(*calibrate, context);
  add_calibrate_compare_command(*calibrate, context);
  add_calibrate_coverage_command(*calibrate, context);
}

}  // namespace packsim
