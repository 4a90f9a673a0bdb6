#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "cli/commands.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "cli/support/support_text.hpp"
#include "cli/support/table_width.hpp"
#include "files/text/printable.hpp"
#include "packing/strategy.hpp"
#include "scenarios/loader/list_files.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"

namespace packsim {
namespace {

struct ListRow {
  std::string name;
  std::string text;
};

std::vector<ListRow> strategy_rows() {
  std::vector<ListRow> rows;
  for (const Strategy& strategy : strategies()) {
    std::vector<std::string_view> options;
    for (const Option* option : strategy.options) options.push_back(option->name);
    rows.push_back(
        {std::string(strategy.name),
         fmt::format("{} {} [{}]{}", strategy.summary, strategy.complexity, strategy.source,
                     options.empty() ? "" : fmt::format(" Options: {}.", fmt::join(options, ", ")))});
  }
  return rows;
}

std::vector<ListRow> option_rows() {
  std::vector<ListRow> rows;
  for (const Option* option : all_options()) {
    rows.push_back(
        {std::string(option->name), fmt::format("{} Expected: {}. Default: {}.", option->text,
                                                expected_of(*option), text_of(default_value(*option)))});
  }
  return rows;
}

// An empty list would hide that the data are not where packsim looks for them.
void require_files(const NamedFiles& kind, const DataPaths& data) {
  if (!names_of(kind, data).empty()) return;
  throw std::invalid_argument(fmt::format(
      "{}/{}: expected a .json file for each {}, got none (PACKSIM_DATA names the folder of the data)",
      data.root, kind.folder, kind.what));
}

std::vector<ListRow> file_rows(const std::vector<ListedFile>& files) {
  std::vector<ListRow> rows;
  for (const ListedFile& file : files) {
    rows.push_back({printable_name(file.name), printable(file.description)});
  }
  return rows;
}

std::string rate_text(double bytes_per_s) {
  return bytes_per_s < 1e12 ? fmt::format("{:.0f} GB/s", bytes_per_s / 1e9)
                            : fmt::format("{:.2f} TB/s", bytes_per_s / 1e12);
}

std::vector<ListRow> gpu_rows(const DataPaths& data) {
  std::vector<ListRow> rows;
  for (const std::string& name : names_of(kGpuFiles, data)) {
    const Gpu gpu = load_gpu(name, data);
    const double nvlink = gpu.nvlink_bytes_per_s.value_or(0);
    rows.push_back(
        {name, fmt::format("{}: {:.0f} TFLOP/s of bf16, {:.0f} GB at {}, {}{}.", gpu.driver_name,
                           gpu.peak("bf16").value_or(0) / 1e12, static_cast<double>(gpu.memory_bytes) / 1e9,
                           rate_text(gpu.memory_bytes_per_s.value_or(0)),
                           nvlink > 0 ? "NVLink " + rate_text(nvlink) : "no NVLink",
                           gpu.power_w ? fmt::format(", {:.0f} W", *gpu.power_w) : "")});
  }
  return rows;
}

// Two columns; the second wrapped to the terminal's usual width.
void print_rows(const std::vector<ListRow>& rows) {
  std::size_t name_width = 0;
  for (const ListRow& row : rows) name_width = std::max(name_width, row.name.size());
  for (const ListRow& row : rows) {
    std::string line = fmt::format("{:<{}}", row.name, name_width);
    std::size_t column = line.size();
    std::size_t begin = 0;
    line += " ";
    while (begin < row.text.size()) {
      const std::size_t end = std::min(row.text.find(' ', begin), row.text.size());
      if (column + 2 + (end - begin) > kTableWidthColumns) {
        print_out("{}\n", line);
        line = std::string(name_width + 1, ' ');
        column = name_width;
      }
      line += " " + row.text.substr(begin, end - begin);
      column += 1 + (end - begin);
      begin = end + 1;
    }
    print_out("{}\n", line);
  }
}

void print_strategies(const DataPaths&) {
  print_rows(strategy_rows());
  print_out("O(...) is the running time for N samples, M packs and a pack length of S tokens.\n\nOptions:\n");
  print_rows(option_rows());
}

constexpr NamedFiles kSupportFiles[] = {kGpuFiles, kModelFiles, kProfileFiles, kHardwareProfileFiles};

// What is listed, and the files that it is read from.
struct Listing {
  std::string_view name;
  std::span<const NamedFiles> files;
  void (*print)(const DataPaths& data);
};

constexpr Listing kListings[] = {
    {"strategies", {}, print_strategies},
    {"models", {&kModelFiles, 1}, [](const DataPaths& data) { print_rows(file_rows(list_models(data))); }},
    {"gpus", {&kGpuFiles, 1}, [](const DataPaths& data) { print_rows(gpu_rows(data)); }},
    {"clusters",
     {&kClusterFiles, 1},
     [](const DataPaths& data) { print_rows(file_rows(list_clusters(data))); }},
    {"networks",
     {&kNetworkFiles, 1},
     [](const DataPaths& data) { print_rows(file_rows(list_networks(data))); }},
    {"scenarios",
     {&kScenarioFiles, 1},
     [](const DataPaths& data) { print_rows(file_rows(list_scenarios(data))); }},
    {"profiles",
     {&kProfileFiles, 1},
     [](const DataPaths& data) { print_rows(file_rows(list_profiles(data))); }},
    {"hardware-profiles",
     {&kHardwareProfileFiles, 1},
     [](const DataPaths& data) { print_rows(file_rows(list_hardware_profiles(data))); }},
    {"support", kSupportFiles, [](const DataPaths& data) { print_out("{}", support_text(data)); }},
};

}  // namespace

void add_list_command(CLI::App& app, const CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "list",
      "List strategies, models, GPUs, clusters, networks, scenarios and profiles, and what prices rest on");
  auto what = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const Listing& listing : kListings) names.emplace_back(listing.name);
  command->add_option("what", *what, fmt::format("one of {}", fmt::join(names, ", ")))
      ->required()
      ->check(member_check(names));
  command->callback([what, context] {
    const DataPaths data{.root = context.data_root};
    const Listing& listing = *std::ranges::find(kListings, *what, &Listing::name);
    for (const NamedFiles& kind : listing.files) require_files(kind, data);
    listing.print(data);
  });
}

}  // namespace packsim
