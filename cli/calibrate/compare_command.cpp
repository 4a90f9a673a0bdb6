#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include "calibration/fit/compare_profiles.hpp"
#include "cli/calibrate/commands.hpp"
#include "cli/shared/print.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"

namespace packsim {
namespace {

struct CompareProfilesArguments {
  std::string first;
  std::string second;
  bool curves = false;
};

std::string ratio_table(const std::vector<ProfileRatio>& rows) {
  std::vector<std::vector<std::string>> table = {{"", "points", "mean", "lowest", "at", "highest", "at"}};
  for (const ProfileRatio& row : rows) {
    table.push_back({row.key, std::to_string(row.n), fmt::format("{:.3f}", row.mean),
                     fmt::format("{:.3f}", row.low), fmt::format("{:.6g}", row.low_at),
                     fmt::format("{:.3f}", row.high), fmt::format("{:.6g}", row.high_at)});
  }
  return formats_detail::text_table(table);
}

std::string libraries_of(const HardwareProfile& profile, const std::string& family) {
  std::set<std::string> libraries;
  for (const KernelCurve* curve : profile.curves_of(family)) libraries.insert(curve->library);
  std::string names;
  for (const std::string& library : libraries) names += (names.empty() ? "" : " and ") + library;
  return names;
}

void print_apart(const std::vector<std::string>& keys, const std::string& where) {
  constexpr std::size_t kListed = 20;
  if (keys.empty()) return;
  print_out("\n{}: {} curves\n", where, keys.size());
  for (std::size_t i = 0; i < std::min(keys.size(), kListed); ++i) print_out("  {}\n", keys[i]);
  if (keys.size() > kListed) print_out("  and {} more\n", keys.size() - kListed);
}

void compare(const CompareProfilesArguments& arguments, const CommandContext& context) {
  const DataPaths data{.root = context.data_root};
  const HardwareProfile first = load_hardware_profile(arguments.first, data);
  const HardwareProfile second = load_hardware_profile(arguments.second, data);
  const ProfileComparison comparison = compare_profiles(first, second);
  print_out("Time of {} ({}) over time of {} ({}); over 1: slower\n\n", second.name, second.gpu, first.name,
            first.gpu);
  if (comparison.families.empty()) {
    print_out("The profiles have no sizes in common.\n");
  } else {
    print_out("{}", ratio_table(comparison.families));
  }
  for (const ProfileRatio& row : comparison.families) {
    const std::string one = libraries_of(first, row.key);
    const std::string other = libraries_of(second, row.key);
    if (one != other) print_out("{}: {} against {}, not only two machines\n", row.key, one, other);
  }
  if (arguments.curves && !comparison.curves.empty()) print_out("\n{}", ratio_table(comparison.curves));
  print_apart(comparison.only_in_a, "only in " + first.name);
  print_apart(comparison.only_in_b, "only in " + second.name);
  print_apart(comparison.no_common_size, "in both, without a common size");
}

}  // namespace

void add_calibrate_compare_command(CLI::App& calibrate, const CommandContext& context) {
  CLI::App* command = calibrate.add_subcommand("compare", "How two hardware profiles differ, curve by curve");
  auto arguments = std::make_shared<CompareProfilesArguments>();
  command->add_option("first", arguments->first, "Hardware profile, by name or path")->required();
  command->add_option("second", arguments->second, "The one to compare with it")->required();
  command->add_flag("--curves", arguments->curves, "Every curve, too");
  command->callback([arguments, context] { compare(*arguments, context); });
}

}  // namespace packsim
