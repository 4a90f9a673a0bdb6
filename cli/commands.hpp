#pragma once

#include "cli/shared/command_context.hpp"

namespace CLI {
class App;
}

namespace packsim {

/// Each adds its subcommand to the program. The work happens in the subcommand's callback; errors are thrown.
void add_compare_command(CLI::App& app, const CommandContext& context);
void add_new_command(CLI::App& app, const CommandContext& context);
void add_run_command(CLI::App& app, const CommandContext& context);
void add_plan_command(CLI::App& app, const CommandContext& context);
void add_pack_command(CLI::App& app, const CommandContext& context);
void add_list_command(CLI::App& app, const CommandContext& context);
void add_check_command(CLI::App& app, const CommandContext& context);
void add_calibrate_command(CLI::App& app, const CommandContext& context);
void add_advise_command(CLI::App& app, const CommandContext& context);
void add_recommend_command(CLI::App& app, const CommandContext& context);
void add_explain_command(CLI::App& app, const CommandContext& context);
void add_diff_command(CLI::App& app, const CommandContext& context);
void add_plot_command(CLI::App& app, const CommandContext& context);
void add_page_command(CLI::App& app, const CommandContext& context);
void add_trace_command(CLI::App& app, const CommandContext& context);
void add_sweep_command(CLI::App& app, const CommandContext& context);
void add_tune_command(CLI::App& app, const CommandContext& context);
void add_validate_command(CLI::App& app, const CommandContext& context);
void add_schema_command(CLI::App& app, const CommandContext& context);
void add_completion_command(CLI::App& app, const CommandContext& context);
void add_man_command(CLI::App& app, const CommandContext& context);

/// Every command, in the order of the help. A new command is a file with its function, and its two lines
/// here.
inline constexpr void (*kCommands[])(CLI::App&, const CommandContext&) = {
    add_new_command,       add_compare_command,  add_run_command,    add_sweep_command,
    add_recommend_command, add_page_command,     add_advise_command, add_explain_command,
    add_diff_command,      add_plot_command,     add_trace_command,  add_pack_command,
    add_plan_command,      add_list_command,     add_check_command,  add_calibrate_command,
    add_tune_command,      add_validate_command, add_schema_command, add_completion_command,
    add_man_command,
};

}  // namespace packsim
