#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>

#include "calibration/fit/curves/hardware_fit.hpp"
#include "calibration/fit/steps/framework_fit.hpp"
#include "cli/calibrate/commands.hpp"
#include "cli/calibrate/inputs.hpp"
#include "cli/shared/print.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"

namespace packsim {
namespace {

using formats_detail::grouped;
using formats_detail::percent;

struct FitArguments {
  std::vector<std::string> files;
  std::string name;
  std::string description;
  std::vector<std::string> libraries;
  std::string hardware;
  std::string framework;
  std::string on;
  std::string missing_from;
  std::string cluster = "h100-sxm-80gb";
  int listed = 10;
};

// "gemm=cublaslt" -> gemm: cublaslt. Families have '=' too: "attention pass=fwd=fa3".
std::map<std::string, std::string> chosen_libraries(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> libraries;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      throw std::invalid_argument(
          fmt::format("--library: expected FAMILY=LIBRARY, such as gemm=cublaslt, got \"{}\"", text));
    }
    libraries[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return libraries;
}

std::string left_out(double rms) {
  return rms > 0 ? percent(rms) : "-";
}

void print_hardware_fit(const HardwareFit& fit, int listed) {
  std::vector<std::vector<std::string>> table = {
      {"kernel", "library", "rows", "curves", "outliers", "rms", "size left out", "shape left out", "worst"}};
  for (const FamilySummary& family : fit.families) {
    table.push_back({family.family, family.library, grouped(family.n_rows), grouped(family.n_curves),
                     grouped(family.n_outliers), percent(family.rms), left_out(family.left_out_rms),
                     left_out(family.left_out_shape_rms), percent(family.max_error)});
  }
  print_out("{} ({})\n\n{}", fit.profile.name, fit.profile.gpu, formats_detail::text_table(table));
  print_out(
      "rms, worst: fitted over measured, outliers apart. left out: sizes of a curve, and whole shapes or "
      "groups, predicted without them.\n");
  std::int64_t n_unused = 0;
  std::set<std::string> libraries;
  for (const UnusedRows& unused : fit.profile.unused) {
    n_unused += unused.n_rows;
    libraries.insert(unused.library);
  }
  if (n_unused > 0) {
    print_out("{} rows of {} other libraries are not used; the profile lists them. --library chooses.\n",
              grouped(n_unused), libraries.size());
  }
  for (const std::string& note : fit.notes) print_out("note: {}\n", note);
  if (fit.outliers.empty()) return;
  print_out("\n{} outliers, which count less and are not dropped:\n", fit.outliers.size());
  const auto n_listed = std::min(fit.outliers.size(), static_cast<std::size_t>(listed));
  for (std::size_t i = 0; i < n_listed; ++i) {
    const FitOutlier& outlier = fit.outliers[i];
    print_out("  {}: measured {}, fitted {} ({})\n", outlier.kernel, readable_time(outlier.measured_s),
              readable_time(outlier.fitted_s), signed_percent(outlier.measured_s / outlier.fitted_s - 1));
  }
  if (fit.outliers.size() > n_listed) print_out("  and {} more\n", fit.outliers.size() - n_listed);
}

void check(const FitArguments& arguments) {
  if (arguments.hardware.empty() && arguments.framework.empty()) {
    throw std::invalid_argument("expected --hardware FILE, --framework FILE or both, got neither");
  }
  if (arguments.hardware == arguments.framework) {
    throw std::invalid_argument("expected --hardware and --framework to be two files, got " +
                                arguments.hardware);
  }
  if (arguments.name.empty()) throw std::invalid_argument("--name: expected a name, got \"\"");
  if (arguments.framework.empty() && !arguments.on.empty())
    throw std::invalid_argument("--on: expected --framework FILE beside it, got none");
  if (arguments.hardware.empty() && !arguments.missing_from.empty())
    throw std::invalid_argument("--missing-from: expected --hardware FILE beside it, got none");
  if (!arguments.framework.empty() && arguments.hardware.empty() && arguments.on.empty()) {
    throw std::invalid_argument(
        "--on: expected the hardware profile that the steps' kernels are priced with, by name or path, or "
        "--hardware FILE to fit one, got neither");
  }
}

// A profile names another one by its path from its own folder.
std::string as_seen_from(const std::string& file, const std::string& name_or_path) {
  if (!is_path(name_or_path)) return name_or_path;
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  const std::string relative = std::filesystem::absolute(name_or_path).lexically_relative(folder).string();
  return is_path(relative) ? relative : "./" + relative;
}

void fit_hardware(const FitArguments& arguments, const Measurements& measurements, const DataPaths& data,
                  Outputs& outputs) {
  if (!arguments.missing_from.empty()) load_hardware_profile(arguments.missing_from, data);  // or throws
  HardwareFit fit = fit_hardware_profile(measurements, {.name = arguments.name,
                                                        .description = arguments.description,
                                                        .library = chosen_libraries(arguments.libraries)});
  fit.profile.missing_kernels_from = as_seen_from(arguments.hardware, arguments.missing_from);
  print_hardware_fit(fit, arguments.listed);
  outputs.write(arguments.hardware, hardware_profile_json(fit.profile));
  print_out("\nWrote {}\n", arguments.hardware);
}

void fit_framework(const FitArguments& arguments, const CommandContext& context, const MeasurementFile& file,
                   const HardwareProfile& hardware) {
  const DataPaths data{.root = context.data_root};
  const Cluster cluster = load_cluster_type(arguments.cluster, data);
  const std::set<std::string> gpus = {gpu_of(file.measurements)};
  warn_of_other_gpus(gpus, arguments.cluster, cluster);
  warn_of_other_gpus(gpus, hardware);
  const std::string on = arguments.on.empty() ? arguments.hardware : arguments.on;
  const FrameworkFit fit = fit_framework_profile(file.measurements, models_by_name(data), cluster, hardware,
                                                 {.name = arguments.name,
                                                  .description = arguments.description,
                                                  .hardware = as_seen_from(arguments.framework, on)});
  print_out("{}", framework_fit_text(fit));
  context.outputs.write(arguments.framework, framework_profile_json(fit));
  print_out("Wrote {}\n", arguments.framework);
}

void fit_profiles(const FitArguments& arguments, const CommandContext& context) {
  check(arguments);
  const MeasurementFile file = read_measurements(arguments.files);
  context.outputs.expect({arguments.hardware, arguments.framework});
  for (const std::string& warning : file.warnings) print_error("packsim: warning: {}\n", warning);
  gpu_of(file.measurements);  // throws for several
  const DataPaths data{.root = context.data_root};
  if (!arguments.hardware.empty()) fit_hardware(arguments, file.measurements, data, context.outputs);
  if (arguments.framework.empty()) return;
  fit_framework(arguments, context, file,
                load_hardware_profile(arguments.on.empty() ? arguments.hardware : arguments.on, data));
}

}  // namespace

void add_calibrate_fit_command(CLI::App& calibrate, const CommandContext& context) {
  CLI::App* command = calibrate.add_subcommand(
      "fit", "Fit a hardware profile to measured kernels, a framework profile to measured steps");
  auto arguments = std::make_shared<FitArguments>();
  command->add_option("measurements", arguments->files, "Measurement files of one kind of GPU")->required();
  command->add_option("--name", arguments->name, "Name of the profile")->required();
  command->add_option("--description", arguments->description, "A sentence about the machine");
  command->add_option("--hardware", arguments->hardware, "Hardware profile to write, from kernels");
  command->add_option("--framework", arguments->framework, "Framework profile to write, from steps");
  command->add_option("--on", arguments->on,
                      "Hardware profile that the framework's numbers come on top of, by name or path; "
                      "default: that of --hardware");
  command->add_option(
      "--library", arguments->libraries,
      "FAMILY=LIBRARY, such as gemm=cublaslt or \"attention pass=fwd=fa3\"; default: the one with most rows");
  command->add_option("--missing-from", arguments->missing_from,
                      "Hardware profile of another GPU or network, by name or path, for kernels that the "
                      "measurements have none of");
  command->add_option("--cluster", arguments->cluster, "Cluster type that the steps ran on (framework)")
      ->capture_default_str();
  context.outputs.add_force_option(*command);
  command->add_option("--list", arguments->listed, "Outliers to print")->check(CLI::Range(0, 100000));
  command->callback([arguments, context] { fit_profiles(*arguments, context); });
}

}  // namespace packsim
