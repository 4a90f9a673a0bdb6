#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/fit/steps/validate_steps.hpp"
#include "cli/calibrate/commands.hpp"
#include "cli/calibrate/inputs.hpp"
#include "cli/shared/print.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"

namespace packsim {
namespace {

using formats_detail::percent;

struct ValidateArguments {
  std::string profile;
  std::vector<std::string> files;
  std::vector<std::string> fit_files;
  int gpus_per_node = 8;
  bool json = false;
};

nlohmann::ordered_json summary_json(const ErrorSummary& summary) {
  return {{"rows", summary.n},        {"mean_error", summary.mean},   {"median_error", summary.median},
          {"p90_error", summary.p90}, {"worst_error", summary.worst}, {"worst_step", summary.worst_step}};
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
                                    {"fit_row", row.fit_row},
                                    {"measured_s", row.measured_s},
                                    {"spread", row.spread},
                                    {"predicted_s", row.predicted.time_s},
                                    {"predicted_standard_error_s", row.predicted.error_s},
                                    {"error", row.error},
                                    {"predicted_parts_s", parts},
                                    {"measured_parts_s", measured_parts},
                                    {"missing", row.predicted.missing}};
    if (validation.framework && row.predicted.missing.empty()) {
      entry["with_framework_s"] = row.with_framework_s;
      entry["with_framework_error"] = row.with_framework_error;
      if (row.fit_row) entry["left_out_error"] = row.left_out_error;
    }
    rows.push_back(entry);
  }
  nlohmann::ordered_json json = {{"rows", rows}, {"kernels_alone", summary_json(validation.kernels_alone)}};
  if (validation.framework) {
    for (const FittedNumber* number : {&validation.framework->kernel_factor,
                                       &validation.framework->micro_batch_s, &validation.framework->step_s}) {
      json["framework"][number->name] = {{"value", number->value},
                                         {"standard_error", number->standard_error}};
    }
    json["with_framework"] = {{"fitted", summary_json(validation.with_framework_fit)},
                              {"left_out", summary_json(validation.with_framework_left_out)},
                              {"held_out", summary_json(validation.with_framework_held_out)}};
  }
  json["notes"] = validation.notes;
  return json.dump(1);
}

void print_summary(std::vector<std::vector<std::string>>& table, const std::string& name,
                   const ErrorSummary& summary) {
  if (summary.n == 0) return;
  table.push_back({name, std::to_string(summary.n), signed_percent(summary.mean), percent(summary.median),
                   percent(summary.p90), percent(summary.worst)});
}

void print_validation(const StepValidation& validation) {
  std::vector<std::vector<std::string>> table = {{"step", "measured", "spread", "sum of kernels", "error"}};
  if (validation.framework) {
    for (const char* title : {"with framework", "error", ""}) table[0].emplace_back(title);
  }
  for (const StepError& row : validation.rows) {
    table.push_back({row.step, readable_time(row.measured_s), percent(row.spread),
                     readable_time(row.predicted.time_s),
                     row.predicted.missing.empty() ? signed_percent(row.error) : "incomplete"});
    if (!validation.framework) continue;
    table.back().push_back(row.predicted.missing.empty() ? readable_time(row.with_framework_s) : "-");
    table.back().push_back(row.predicted.missing.empty() ? signed_percent(row.with_framework_error) : "");
    table.back().push_back(row.fit_row ? "fitted" : "held out");
  }
  print_out("{}\n", formats_detail::text_table(table));
  std::vector<std::vector<std::string>> summaries = {{"error", "steps", "mean", "median", "p90", "worst"}};
  print_summary(summaries, "sum of kernels", validation.kernels_alone);
  print_summary(summaries, "with framework, fitted", validation.with_framework_fit);
  print_summary(summaries, "with framework, left out", validation.with_framework_left_out);
  print_summary(summaries, "with framework, held out", validation.with_framework_held_out);
  print_out("{}", formats_detail::text_table(summaries));
  if (validation.framework) {
    for (const FittedNumber* number : {&validation.framework->kernel_factor,
                                       &validation.framework->micro_batch_s, &validation.framework->step_s}) {
      if (number->value == 0 && number->standard_error == 0) {
        print_out("{}: not fitted, taken as 0: these steps do not tell it\n", number->name);
        continue;
      }
      print_out("{} = {:.4g} +- {:.2g}\n", number->name, number->value, number->standard_error);
    }
  }
  if (validation.n_incomplete > 0) {
    print_out("{} steps have kernels that the profile knows nothing of, and are not in the summaries:\n",
              validation.n_incomplete);
    std::set<std::string> missing;
    for (const StepError& row : validation.rows)
      missing.insert(row.predicted.missing.begin(), row.predicted.missing.end());
    constexpr std::size_t kListed = 10;
    std::size_t n = 0;
    for (const std::string& kernel : missing) {
      if (n++ < kListed) print_out("  {}\n", kernel);
    }
    if (missing.size() > kListed) print_out("  and {} more\n", missing.size() - kListed);
  }
  for (const std::string& note : validation.notes) print_out("note: {}\n", note);
}

void validate(const ValidateArguments& arguments, const CommandContext& context) {
  const DataPaths data{.root = context.data_root};
  const HardwareProfile profile = load_hardware_profile(arguments.profile, data);
  std::vector<std::string> files = arguments.files;
  std::set<std::string> fit_steps;
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
  const MeasurementFile file = read_measurements(files);
  for (const std::string& warning : file.warnings) print_error("packsim: warning: {}\n", warning);
  const auto is_step = [](const Measurement& row) { return row.kernel.kernel() == "step"; };
  if (std::ranges::none_of(file.measurements.rows, is_step)) {
    throw std::invalid_argument("expected measured steps (lines with \"case\": \"step ...\"), got none");
  }
  std::set<std::string> gpus;
  for (const Measurement& row : file.measurements.rows) {
    if (is_step(row)) gpus.insert(file.measurements.source_of(row).gpu);
  }
  for (const std::string& gpu : gpus) {
    if (gpu == profile.gpu) continue;
    print_error("packsim: warning: steps were measured on {}, the profile is of {}\n", gpu, profile.gpu);
  }
  StepValidationOptions options;
  if (!fit_steps.empty()) {
    options.is_fit_row = [&](const Measurement& row) { return fit_steps.contains(row.kernel.text()); };
  }
  const StepValidation validation =
      validate_steps(profile, file.measurements, kernels_of_steps(data, arguments.gpus_per_node), options);
  if (arguments.json) {
    print_exact(to_json(validation) + "\n");
  } else {
    print_validation(validation);
  }
}

}  // namespace

void add_calibrate_validate_command(CLI::App& calibrate, const CommandContext& context) {
  CLI::App* command = calibrate.add_subcommand(
      "validate", "Predict measured training steps from a hardware profile, and show every error");
  auto arguments = std::make_shared<ValidateArguments>();
  command->add_option("profile", arguments->profile, "Hardware profile, by name or path")->required();
  command->add_option("steps", arguments->files, "Measurement files with steps, held out from every fit")
      ->required();
  command->add_option(
      "--fit", arguments->fit_files,
      "Steps to fit framework numbers to: a factor on kernels, seconds a micro-batch and a step");
  command->add_option("--gpus-per-node", arguments->gpus_per_node, "Of the measured machine")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print JSON, with the parts of every step");
  command->callback([arguments, context] { validate(*arguments, context); });
}

}  // namespace packsim
