#pragma once

#include "cli/shared/command_context.hpp"

namespace packsim {

// The subcommands of `packsim calibrate`, a file each.
void add_calibrate_plan_command(CLI::App& calibrate, const CommandContext& context);
void add_calibrate_run_command(CLI::App& calibrate, const CommandContext& context);
void add_calibrate_fit_command(CLI::App& calibrate, const CommandContext& context);
void add_calibrate_validate_command(CLI::App& calibrate, const CommandContext& context);
void add_calibrate_compare_command(CLI::App& calibrate, const CommandContext& context);
void add_calibrate_coverage_command(CLI::App& calibrate, const CommandContext& context);

}  // namespace packsim
