#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/print.hpp"
#include "cli/support/kernel_support.hpp"
#include "cli/support/step_support.hpp"
#include "cli/support/table_width.hpp"
#include "files/text/printable.hpp"
#include "models/not_modelled.hpp"
#include "models/plan/trainer.hpp"
#include "packing/strategy.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/json/suggest.hpp"
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

std::vector<ListRow> file_rows(const NamedFiles& kind, const DataPaths& data) {
  std::vector<ListRow> rows;
  for (const ListedFile& file : list_files(kind, data))
    rows.push_back({printable_name(file.name), printable(file.description)});
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

// What a trainer can run beyond data parallelism, by its ways.
std::vector<ListRow> trainer_rows(const DataPaths& data) {
  std::vector<ListRow> rows;
  for (const std::string& name : names_of(kTrainerFiles, data)) {
    const Trainer trainer = load_trainer(name, data);
    std::vector<std::string> ways;
    for (const TrainerWay& way : trainer.ways) ways.push_back(way_text(way));
    rows.push_back(
        {name, fmt::format("{}: {}. {}{}. [{}]", trainer.name, fmt::join(ways, "; "),
                           trainer.degrees == Variety::one ? "One degree of sequences in a run"
                                                           : "Several degrees of sequences in a run",
                           trainer.takes_plans ? "" : "; takes no plans made beforehand", trainer.source)});
  }
  return rows;
}

// Two columns; the second wrapped to the terminal's usual width.
void print_rows(const std::vector<ListRow>& rows) {
  std::size_t name_width = 0;
  for (const ListRow& row : rows) name_width = std::max(name_width, row.name.size());
  for (const ListRow& row : rows) {
    print_out("{}", formats_detail::wrapped(fmt::format("{:<{}}  {}", row.name, name_width, row.text),
                                            kTableWidthColumns, static_cast<int>(name_width) + 2));
  }
}

void print_strategies(const DataPaths&) {
  print_rows(strategy_rows());
  print_out("O(...) is the running time for N samples, M packs and a pack length of S tokens.\n\nOptions:\n");
  print_rows(option_rows());
}

// What prices rest on, by GPU, plan and model, and what no scenario can ask for.
void print_support(const DataPaths& data) {
  const KernelSources sources = load_kernel_sources(data);
  print_out(
      "What the times of kernels rest on; all are of bf16, from which a rule makes those of fp8\n\n{}\n"
      "Framework profiles, what the steps had that they were fitted to, and the error on steps left "
      "out\n\n{}\n"
      "The error that other steps add\n\n{}\n"
      "How well the attention kernels of models are known on the measured GPU, and profiles fitted to steps "
      "of\nthem\n\n{}\nWhat no scenario can ask for\n\n",
      kernel_support_text(sources, data), profile_support_text(data), trait_support_text(),
      model_support_text(sources, data));
  std::vector<ListRow> rows;
  for (const NotModelled& row : kNotModelled) rows.push_back({std::string(row.what), std::string(row.text)});
  print_rows(rows);
}

constexpr NamedFiles kSupportFiles[] = {kGpuFiles, kModelFiles, kProfileFiles, kHardwareProfileFiles};

// What is listed, and the files that it is read from.
struct Listing {
  std::string_view name;
  std::span<const NamedFiles> files;
  void (*print)(const DataPaths& data) = nullptr;  // null: what each of the files says of itself
};

constexpr Listing kListings[] = {
    {"strategies", {}, print_strategies},
    {kModelFiles.listing, {&kModelFiles, 1}},
    {kGpuFiles.listing, {&kGpuFiles, 1}, [](const DataPaths& data) { print_rows(gpu_rows(data)); }},
    {kClusterFiles.listing, {&kClusterFiles, 1}},
    {kNetworkFiles.listing, {&kNetworkFiles, 1}},
    {kTrainerFiles.listing,
     {&kTrainerFiles, 1},
     [](const DataPaths& data) { print_rows(trainer_rows(data)); }},
    {kScenarioFiles.listing, {&kScenarioFiles, 1}},
    {kProfileFiles.listing, {&kProfileFiles, 1}},
    {kHardwareProfileFiles.listing, {&kHardwareProfileFiles, 1}},
    {"support", kSupportFiles, print_support},
};

}  // namespace

void add_list_command(CLI::App& app, const CommandContext& context) {
  CLI::App* command = app.add_subcommand("list",
                                         "List strategies, models, GPUs, clusters, networks, trainers, "
                                         "scenarios and profiles, and what prices rest on");
  auto what = std::make_shared<std::string>();
  const std::vector<std::string> names = names_in(kListings);
  command->add_option("what", *what, fmt::format("one of {}", fmt::join(names, ", ")))
      ->required()
      ->check(member_check(names));
  command->callback([what, context] {
    const DataPaths data{.root = context.data_root};
    const Listing& listing = *std::ranges::find(kListings, *what, &Listing::name);
    for (const NamedFiles& kind : listing.files) require_files(kind, data);
    if (listing.print == nullptr) {
      print_rows(file_rows(listing.files.front(), data));
    } else {
      listing.print(data);
    }
  });
}

}  // namespace packsim
