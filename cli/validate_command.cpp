#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "cli/commands.hpp"
#include "cli/shared/child_process.hpp"
#include "cli/shared/print.hpp"
#include "files/read_file.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "validation/any_stack_fit.hpp"
#include "validation/gate.hpp"
#include "validation/stack_fit.hpp"
#include "validation/step_stacks.hpp"
#include "validation/validation_sets.hpp"
#include "validation/validation_text.hpp"

namespace packsim {
namespace {

constexpr int kWorse = 1;

struct ValidateArguments {
  std::vector<std::string> sets;  // empty: all
  std::string markdown;
  std::string gate;
  std::string write_gate;
  bool json = false;
  bool fit_stacks = false;
};

void write_profile(std::string_view name, const std::string& text, const DataPaths& data, Outputs& outputs) {
  const std::string path = fmt::format("{}/{}/{}.json", data.root, kProfileFiles.folder, name);
  outputs.change(path, text);
  print_out("{}: written\n", path);
}

void fit_stacks(const DataPaths& data, Outputs& outputs) {
  const std::vector<PublishedStep> all = load_all_steps(data);
  for (const StepStack& stack : step_stacks()) {
    for (const StackProfile& profile : stack.profiles)
      write_profile(profile.name, stack_profile_json(profile, all, data), data, outputs);
  }
  write_profile(kAnyStackProfile, any_stack_profile_json(all, data), data, outputs);
}

std::vector<std::string> pages_at(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> pages;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path().string());
  }
  std::ranges::sort(pages);
  return pages;
}

void refresh_pages(const std::string& path, const std::vector<ValidationSet>& sets, Outputs& outputs) {
  bool has_tables = false;
  for (const std::string& file : pages_at(path)) {
    const std::string page = read_file(file);
    if (page.find(kTablesBegin) == std::string::npos) continue;
    has_tables = true;
    outputs.change(file, with_tables(page, sets));
  }
  if (!has_tables)
    throw std::invalid_argument(fmt::format("{}: expected a line that starts with {}", path, kTablesBegin));
}

void report_gate(const std::string& path, const std::vector<ValidationSet>& sets) {
  const GateFindings findings = check_gate(read_file(path), sets);
  for (const std::string& gain : findings.gains)
    print_out("{}: the error is smaller than in the gate; update the gate: {}\n", path, gain);
  for (const std::string& failure : findings.failures) print_error("{}: {}\n", path, failure);
  if (!findings.failures.empty()) throw ExitCode{kWorse};
}

void validate_command(const ValidateArguments& arguments, const CommandContext& context) {
  const DataPaths data{.root = context.data_root};
  if (arguments.fit_stacks) {
    fit_stacks(data, context.outputs);
    return;
  }
  context.outputs.expect({arguments.write_gate});
  const std::vector<ValidationSet> sets = validate(arguments.sets, data);
  if (arguments.json) {
    print_exact(validation_json(sets));
  } else {
    print_out("{}", validation_text(sets));
  }
  if (!arguments.markdown.empty()) refresh_pages(arguments.markdown, sets, context.outputs);
  if (!arguments.write_gate.empty()) context.outputs.write(arguments.write_gate, gate_json(sets));
  if (!arguments.gate.empty()) report_gate(arguments.gate, sets);
}

}  // namespace

void add_validate_command(CLI::App& app, const CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "validate", "Recompute every published number that packsim is compared with, and show its error");
  auto arguments = std::make_shared<ValidateArguments>();
  command->add_option(
      "--set", arguments->sets,
      fmt::format("Only this set (may be repeated), one of {}", fmt::join(validation_set_names(), ", ")));
  command->add_option(
      "--markdown", arguments->markdown,
      "Refresh the tables between marked lines in this page, or in every page of this folder, such as docs");
  context.outputs.add_force_option(*command);
  command->add_flag("--json", arguments->json, "Print JSON");
  command->add_option(
      "--gate", arguments->gate,
      "Exit with 1 if an error has grown or a target is no longer met since this file was written, such as "
      "validation/gate.json");
  command->add_option("--write-gate", arguments->write_gate,
                      "Write the errors to this file, for a later --gate");
  command->add_flag("--fit-stacks", arguments->fit_stacks,
                    "Only fit the framework profiles again that rest on published steps, and write them");
  command->callback([arguments, context] { validate_command(*arguments, context); });
}

}  // namespace packsim
