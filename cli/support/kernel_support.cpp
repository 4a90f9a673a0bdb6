#include "cli/support/kernel_support.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "cli/support/table_width.hpp"
#include "models/kernels/collectives.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "models/step/extrapolation_error.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"

namespace packsim {
namespace {

using Families = std::set<std::string>;

// A column of the table, with its head in two rows.
struct KernelColumn {
  std::string_view group;
  std::string_view name;
  std::vector<std::string> families;
};

// The family of a kernel, and of matrix products also which of the three of a linear layer it is.
std::string support_family(std::string_view key) {
  const std::string family = kernel_family(key);
  return family == "gemm" ? fmt::format("gemm layout={}", key_value(key, "layout")) : family;
}

const std::vector<std::string_view>& words_of(std::string_view kernel, std::string_view key) {
  return std::ranges::find(kernel_kind(kernel).keys, key, &KernelKey::name)->words;
}

std::vector<std::string> families_by(std::string_view kernel, std::string_view key) {
  std::vector<std::string> families;
  for (const std::string_view word : words_of(kernel, key))
    families.push_back(fmt::format("{} {}={}", kernel, key, word));
  return families;
}

std::vector<std::string> elementwise_families() {
  std::vector<std::string> families;
  for (const std::string& op : families_by("elementwise", "op")) {
    for (const std::string_view pass : words_of("elementwise", "pass"))
      families.push_back(fmt::format("{} pass={}", op, pass));
  }
  return families;
}

std::vector<std::string> families_between_nodes() {
  std::vector<std::string> families = families_by("collective", "op");
  for (std::string& family : families) family += " between nodes";
  return families;
}

std::vector<KernelColumn> kernel_columns() {
  return {{"matrix", "products", families_by("gemm", "layout")},
          {"attention", "forward", {"attention pass=fwd"}},
          {"attention", "backward", {"attention pass=bwd"}},
          {"element-", "wise", elementwise_families()},
          {"", "copies", families_by("copy", "kind")},
          {"collective", "in a node", families_by("collective", "op")},
          {"collective", "between", families_between_nodes()},
          {"", "AdamW", {"adamw"}}};
}

void add_families(const HardwareProfile& profile, Families& families) {
  for (const KernelCurve& curve : profile.curves) families.insert(support_family(curve.key));
  for (const KernelModel& model : profile.models) families.insert(support_family(model.key));
}

Families families_on(const std::vector<HardwareProfile>& profiles, const std::string& gpu) {
  Families families;
  for (const HardwareProfile& profile : profiles) {
    if (profile.gpu == gpu) add_families(profile, families);
  }
  return families;
}

Families families_of(const std::vector<HardwareProfile>& profiles) {
  Families families;
  for (const HardwareProfile& profile : profiles) add_families(profile, families);
  return families;
}

std::string kernel_cell(const KernelColumn& column, const Families& own, const Families& base) {
  const auto n_in = [&](const Families& known) {
    return std::ranges::count_if(column.families,
                                 [&](const std::string& family) { return known.contains(family); });
  };
  const auto n_own = n_in(own);
  const auto n = std::ssize(column.families);
  if (n_own == n) return "measured";
  if (n_own > 0) return fmt::format("{} of {}", n_own, n);
  return n_in(base) > 0 ? "scaled" : "by rule";
}

std::string kernel_table(const KernelSources& sources, const DataPaths& data) {
  const std::vector<KernelColumn> columns = kernel_columns();
  std::vector<std::vector<std::string>> rows = {{""}, {"GPU"}};
  for (const KernelColumn& column : columns) {
    rows[0].emplace_back(column.group);
    rows[1].emplace_back(column.name);
  }
  const Families base = families_of(sources.base);
  for (const std::string& name : names_of(kGpuFiles, data)) {
    const Families own = families_on(sources.all, load_gpu(name, data).driver_name);
    std::vector<std::string> row = {name};
    for (const KernelColumn& column : columns) row.push_back(kernel_cell(column, own, base));
    rows.push_back(std::move(row));
  }
  return formats_detail::text_table(rows);
}

std::string gpus_of(const std::vector<HardwareProfile>& profiles) {
  std::set<std::string> gpus;
  for (const HardwareProfile& profile : profiles) gpus.insert(profile.gpu);
  return fmt::format("{}", fmt::join(gpus, " or "));
}

std::string measured_text(const KernelSources& sources) {
  std::vector<std::string> profiles;
  for (const HardwareProfile& profile : sources.all)
    profiles.push_back(fmt::format("{} ({})", profile.name, profile.gpu));
  return fmt::format(
      "measured: by a shipped hardware profile, which a scenario, or else the file of its GPU, names in "
      "\"hardware\": {}. \"2 of 5\" says how many of the column's kernels were; the others are scaled, "
      "or estimated from these, or by rule.",
      fmt::join(profiles, ", "));
}

std::string scaled_text(const KernelSources& sources) {
  const TransferNumbers numbers;
  return fmt::format(
      "scaled: what was measured on {}, or by the hardware profile that the file of the GPU names, is "
      "scaled by data sheets (docs/accuracy/transfer.md). This adds an error of {:.0f} % to matrix products, "
      "{:.0f} % to attention, {:.0f} % to elementwise kernels and {:.0f} % to collectives, but {:.0f} % to "
      "collectives of GPUs without NVLink and {:.0f} % to the other kernels of another maker's GPUs. Between "
      "GPUs of one chip, as the H100 and the H200, it is {:.0f} % for matrix products, {:.0f} % for "
      "attention and {:.0f} % for elementwise kernels.",
      gpus_of(sources.base), 100 * numbers.product_error, 100 * numbers.attention_error,
      100 * numbers.memory_error, 100 * numbers.link_error, 100 * numbers.other_link_error,
      100 * numbers.other_maker_error, 100 * numbers.same_chip_product_error,
      100 * numbers.same_chip_attention_error, 100 * numbers.same_chip_memory_error);
}

std::string rule_text() {
  return fmt::format(
      "by rule: measured on no GPU. A stated rule gives the price (docs/model.md#time-of-kernels), with an "
      "error of {:.0f} %.",
      100 * kExtrapolationError);
}

}  // namespace

KernelSources load_kernel_sources(const DataPaths& data) {
  KernelSources sources;
  for (const std::string& name : names_of(kHardwareProfileFiles, data))
    sources.all.push_back(load_hardware_profile(name, data));
  std::set<std::string> base;
  for (const std::string& name : names_of(kProfileFiles, data))
    base.insert(load_profile(name, data).hardware);
  for (const std::string& name : base) sources.base.push_back(load_hardware_profile(name, data));
  return sources;
}

std::string kernel_support_text(const KernelSources& sources, const DataPaths& data) {
  std::string text = kernel_table(sources, data) + "\n";
  for (const std::string& line : {measured_text(sources), scaled_text(sources), rule_text()})
    text += formats_detail::wrapped(line, kTableWidthColumns, 2);
  return text;
}

}  // namespace packsim
