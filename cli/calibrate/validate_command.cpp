#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "calibration/fit/steps/measured_step.hpp"
#include "calibration/fit/steps/validate_steps.hpp"
#include "cli/calibrate/commands.hpp"
#include "cli/calibrate/inputs.hpp"
#include "cli/calibrate/step_table.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/terminal.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "reports/text/display_width.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"

namespace packsim {
namespace {

struct ValidateStepsArguments {
  std::string profile;
  std::vector<std::string> files;
  std::vector<std::string> fit_files;
  std::string framework;
  std::string cluster = "h100-sxm-80gb";
  int gpus_per_node = 0;  // that of the cluster type
  bool json = false;
};

nlohmann::ordered_json summary_json(const ErrorSummary& summary) {
  return {{"rows", summary.n},        {"mean_error", summary.mean},   {"median_error", summary.median},
          {"p90_error", summary.p90}, {"worst_error", summary.worst}, {"worst_step", summary.worst_step}};
}

nlohmann::ordered_json summaries_json(const FrameworkSummaries& summaries) {
  return {{"fitted", summary_json(summaries.fitted)},
          {"left_out", summary_json(summaries.left_out)},
          {"held_out", summary_json(summaries.held_out)}};
}

// Every number of the profile; of a fitted one with its standard error and whether the steps tell it.
nlohmann::ordered_json framework_json(const StepValidation& validation) {
  nlohmann::ordered_json json;
  const FrameworkProfile& framework = *validation.framework;
  if (!validation.framework_fit) {
    for (const FrameworkNumber& number : kFrameworkNumbers)
      json[number.name] = {{"value", framework.factors.*number.value}};
    return json;
  }
  const FrameworkFit& fit = *validation.framework_fit;
  for (const FittedNumber& number : fit.numbers) {
    json[number.name] = {{"value", number.value},
                         {"standard_error", number.standard_error},
                         {"assumed", std::ranges::find(fit.assumed, number.name) != fit.assumed.end()}};
  }
  return json;
}

void add_framework_json(const StepError& row, nlohmann::ordered_json& entry) {
  entry["with_framework_s"] = row.with_framework_s;
  entry["with_framework_error"] = row.with_framework_error;
  if (row.fit_row) entry["left_out_error"] = row.left_out_error;
  entry["with_framework_memory_bytes"] = row.with_framework_memory_bytes;
  if (!row.measured_memory_bytes) return;
  entry["with_framework_memory_error"] = row.with_framework_memory_error;
}

std::string to_json(const StepValidation& validation) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const StepError& row : validation.rows) {
    nlohmann::ordered_json parts;
    for (const PartTime& part : row.predicted.parts) parts[part.part] = part.time_s;
    nlohmann::ordered_json measured_parts;
    for (const auto& [part, time_s] : row.measured_parts_s) measured_parts[part] = time_s;
    nlohmann::ordered_json entry = {{"case", row.step},
                                    {"library", row.library},
                                    {"flags", row.flags},
                                    {"fit_row", row.fit_row},
                                    {"measured_s", row.measured_s},
                                    {"spread", row.spread},
                                    {"predicted_s", row.predicted.time_s},
                                    {"predicted_standard_error_s", row.predicted.error_s},
                                    {"error", row.error},
                                    {"predicted_parts_s", parts},
                                    {"measured_parts_s", measured_parts},
                                    {"missing", row.predicted.missing}};
    if (row.measured_memory_bytes) entry["measured_memory_bytes"] = *row.measured_memory_bytes;
    if (validation.framework) add_framework_json(row, entry);
    rows.push_back(entry);
  }
  nlohmann::ordered_json json = {{"rows", rows}, {"kernels_alone", summary_json(validation.kernels_alone)}};
  if (validation.framework) {
    json["framework"] = framework_json(validation);
    json["with_framework"] = summaries_json(validation.with_framework);
    json["memory"] = summaries_json(validation.memory);
  }
  json["notes"] = validation.notes;
  return json.dump(1);
}

void print_framework(const StepValidation& validation) {
  if (validation.framework_fit) {
    print_out("\nframework profile, {}:\n{}", validation.framework->source,
              framework_numbers_text(*validation.framework_fit));
  } else if (validation.framework) {
    print_out("\nframework profile {}, {}\n", validation.framework->name, validation.framework->source);
  }
}

void print_missing(const StepValidation& validation, std::size_t width_columns) {
  if (validation.n_incomplete == 0) return;
  print_out("{}",
            formats_detail::wrapped(
                fmt::format("{} steps have kernels that the profile knows nothing of. They are not in "
                            "the summary of sums of kernels; with a framework profile these kernels are "
                            "extrapolated, as in scenarios:",
                            validation.n_incomplete),
                static_cast<int>(width_columns), 0));
  std::set<std::string> missing;
  for (const StepError& row : validation.rows)
    missing.insert(row.predicted.missing.begin(), row.predicted.missing.end());
  constexpr std::size_t kListed = 10;
  std::size_t n = 0;
  for (const std::string& kernel : missing) {
    if (n++ < kListed) print_out("  {}\n", formats_detail::shortened(kernel, width_columns - 2));
  }
  if (missing.size() > kListed) print_out("  and {} more\n", missing.size() - kListed);
}

void print_validation(const StepValidation& validation, const ModelByName& model) {
  // Wider lines would only put numbers further apart.
  constexpr int kWidest = 120;
  const auto width_columns = static_cast<std::size_t>(std::clamp(terminal_width_columns(), 40, kWidest));
  print_out("{}\n", step_table(validation, model, width_columns));
  print_out("{}", error_summary_table(validation));
  print_framework(validation);
  print_missing(validation, width_columns);
  for (const std::string& note : validation.notes)
    print_out("{}", formats_detail::wrapped("note: " + note, static_cast<int>(width_columns), 2));
}

// Reads the steps of the files and, beside them, of --fit, whose steps must be others.
MeasurementFile read_steps(const ValidateStepsArguments& arguments, std::set<std::string>& fit_steps) {
  std::vector<std::string> files = arguments.files;
  if (!arguments.fit_files.empty()) {
    for (const Measurement& row : read_measurements(arguments.fit_files).measurements.rows)
      fit_steps.insert(row.kernel.text());
    for (const Measurement& row : read_measurements(arguments.files).measurements.rows) {
      if (!fit_steps.contains(row.kernel.text())) continue;
      throw std::invalid_argument("expected steps that are not in the files of --fit, got " +
                                  row.kernel.text());
    }
    files.insert(files.end(), arguments.fit_files.begin(), arguments.fit_files.end());
  }
  return read_measurements(files);
}

// The file of a hardware profile that a profile, or the command line, names.
std::filesystem::path hardware_file(const std::string& name, const std::string& from_folder,
                                    const DataPaths& data) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(
      find_named_file(kHardwareProfileFiles, name, from_folder, data).path, ignored);
}

// Numbers on top of one hardware profile say little on top of another one, and steps are priced as they were
// executed.
FrameworkProfile load_framework(const ValidateStepsArguments& arguments, const Measurements& measurements,
                                const DataPaths& data) {
  const FrameworkProfile framework = load_profile(arguments.framework, data);
  const std::string folder = std::filesystem::path(arguments.framework).parent_path().string();
  if (hardware_file(framework.hardware, is_path(arguments.framework) ? folder : "", data) !=
      hardware_file(arguments.profile, "", data)) {
    print_error("packsim: warning: the framework profile {} stands on the hardware profile {}, not on {}\n",
                framework.name, framework.hardware, arguments.profile);
  }
  const bool is_executed_so = std::ranges::all_of(measurements.rows, [&](const Measurement& row) {
    ExecutionStyle execution = source_plan(measurements.source_of(row)).execution;
    execution.launch_s = framework.execution.launch_s;  // not in step times here
    return row.kernel.kernel() != "step" || execution == framework.execution;
  });
  if (!is_executed_so) {
    print_error(
        "packsim: warning: the framework of profile {} executes steps differently from the measured ones; "
        "its numbers are judged on steps as they were run\n",
        framework.name);
  }
  return framework;
}

void validate(const ValidateStepsArguments& arguments, const CommandContext& context) {
  const DataPaths data{.root = context.data_root};
  const HardwareProfile profile = load_hardware_profile(arguments.profile, data);
  std::set<std::string> fit_steps;
  const MeasurementFile file = read_steps(arguments, fit_steps);
  for (const std::string& warning : file.warnings) print_error("packsim: warning: {}\n", warning);
  std::set<std::string> gpus;
  for (const Measurement& row : file.measurements.rows) {
    if (row.kernel.kernel() == "step") gpus.insert(file.measurements.source_of(row).gpu);
  }
  if (gpus.empty())
    throw std::invalid_argument("expected measured steps (lines with \"case\": \"step ...\"), got none");
  const ModelByName model = models_by_name(data);
  StepValidationOptions options{.model = model, .cluster = load_cluster_type(arguments.cluster, data)};
  if (profile.data_sheet && gpus == std::set{options.cluster.gpu.driver_name}) {
    if (profile.gpu != options.cluster.gpu.driver_name) {
      print_error("packsim: kernels of {}, measured on {}, are scaled to {}\n", profile.name, profile.gpu,
                  options.cluster.gpu.driver_name);
    }
  } else {
    warn_of_other_gpus(gpus, profile);
  }
  if (arguments.gpus_per_node > 0) options.cluster.gpus_per_node = arguments.gpus_per_node;
  if (!arguments.framework.empty()) options.framework = load_framework(arguments, file.measurements, data);
  if (!arguments.fit_files.empty())
    options.is_fit_row = [&](const Measurement& row) { return fit_steps.contains(row.kernel.text()); };
  if (options.framework || options.is_fit_row) warn_of_other_gpus(gpus, arguments.cluster, options.cluster);
  // A cluster of another GPU gets the profile's kernels as a scenario there would.
  const StepValidation validation =
      validate_steps(profile.data_sheet ? profile_on(profile, options.cluster) : profile, file.measurements,
                     kernels_of_steps(model, options.cluster.gpus_per_node), options);
  if (arguments.json) {
    print_exact(to_json(validation) + "\n");
  } else {
    print_validation(validation, model);
  }
}

}  // namespace

void add_calibrate_validate_command(CLI::App& calibrate, const CommandContext& context) {
  CLI::App* command = calibrate.add_subcommand(
      "validate", "Predict measured training steps from a hardware profile, and show every error");
  auto arguments = std::make_shared<ValidateStepsArguments>();
  command->add_option("profile", arguments->profile, "Hardware profile, by name or path")->required();
  command->add_option("steps", arguments->files, "Measurement files with steps, held out from every fit")
      ->required();
  CLI::Option* fit = command->add_option("--fit", arguments->fit_files,
                                         "Steps to fit a framework profile to, as calibrate fit does, which "
                                         "then predicts times and peak memory");
  command
      ->add_option("--framework", arguments->framework,
                   "Framework profile to judge instead, by name or path, on steps that it was not fitted to")
      ->excludes(fit);
  command
      ->add_option("--cluster", arguments->cluster,
                   "Cluster type that the steps ran on (--fit, --framework, and its GPUs in a node)")
      ->capture_default_str();
  command
      ->add_option("--gpus-per-node", arguments->gpus_per_node,
                   "Of the measured machine; default: that of --cluster")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--json", arguments->json, "Print JSON, with the parts of every step");
  command->callback([arguments, context] { validate(*arguments, context); });
}

}  // namespace packsim
