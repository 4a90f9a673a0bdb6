#include "cli/support/step_support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "models/framework_profile.hpp"
#include "models/kernels/make_case.hpp"
#include "models/layers/layer_ops.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::vector<FrameworkProfile> load_profiles(const DataPaths& data) {
  std::vector<FrameworkProfile> profiles;
  for (const std::string& name : names_of(kProfileFiles, data)) profiles.push_back(load_profile(name, data));
  return profiles;
}

// A name such as "nemo-megatron-h100" as a narrow head: "nemo-", "megatron-", "h100".
std::vector<std::string> name_lines(std::string_view name) {
  std::vector<std::string> lines;
  for (std::size_t dash = name.find('-'); dash != std::string_view::npos; dash = name.find('-')) {
    lines.emplace_back(name.substr(0, dash + 1));
    name.remove_prefix(dash + 1);
  }
  lines.emplace_back(name);
  return lines;
}

// The rows of a table's head: `columns`, then a column for each profile, whose names end in the last row.
Rows head(const std::vector<std::string>& columns, const std::vector<FrameworkProfile>& profiles) {
  std::size_t n_lines = 1;
  for (const FrameworkProfile& profile : profiles)
    n_lines = std::max(n_lines, name_lines(profile.name).size());
  Rows rows(n_lines, std::vector<std::string>(columns.size()));
  rows.back() = columns;
  for (const FrameworkProfile& profile : profiles) {
    const std::vector<std::string> lines = name_lines(profile.name);
    for (std::size_t i = 0; i < n_lines; ++i) {
      const std::size_t n_above = n_lines - lines.size();
      rows[i].push_back(i < n_above ? "" : lines[i - n_above]);
    }
  }
  return rows;
}

template <typename Item>
std::string cell_of(const std::vector<Item>& items, const Item& item) {
  return std::ranges::find(items, item) != items.end() ? "yes" : "-";
}

std::string gpus_text(const FitScope& scope) {
  return scope.least_gpus == scope.most_gpus ? std::to_string(scope.least_gpus)
                                             : fmt::format("{}-{}", scope.least_gpus, scope.most_gpus);
}

std::string attention_text(const Transformer& model) {
  if (model.has_latent_attention()) return "latent";
  return model.n_windowed_layers > 0 ? "windowed" : "grouped";
}

// How well the base profiles know the time of the model's attention over one document of 8 192 tokens.
std::string attention_evidence(const KernelSources& sources, const Transformer& model,
                               std::string_view pass) {
  constexpr std::int64_t kDocumentTokens = 8192;
  const AttentionShape shape = attention_shape(model, {});
  const KernelCase kernel =
      attention_case(pass, {{{1, kDocumentTokens}}}, shape.heads, shape.kv_heads, shape.head_dim);
  Evidence best = Evidence::missing;
  for (const HardwareProfile& profile : sources.base)
    best = std::min(best, kernel_time(profile, kernel).evidence);
  return best == Evidence::missing ? "by rule" : std::string(evidence_name(best));
}

}  // namespace

std::string trait_support_text(const DataPaths& data) {
  const std::vector<FrameworkProfile> profiles = load_profiles(data);
  Rows rows = head({"steps with", "error if not"}, profiles);
  for (const PlanTraitKind& kind : kPlanTraits) {
    rows.push_back({std::string(kind.text), fmt::format("{:.0f} %", 100 * kind.error)});
    for (const FrameworkProfile& profile : profiles)
      rows.back().push_back(cell_of(profile.fitted_on.traits, kind.trait));
  }
  rows.push_back({"GPUs in these steps", ""});
  for (const FrameworkProfile& profile : profiles) rows.back().push_back(gpus_text(profile.fitted_on));
  return formats_detail::text_table(rows);
}

std::string model_support_text(const KernelSources& sources, const DataPaths& data) {
  const std::vector<FrameworkProfile> profiles = load_profiles(data);
  Rows rows = head({"model", "layers", "attention", "its forward", "its backward"}, profiles);
  for (const std::string& name : names_of(kModelFiles, data)) {
    const Transformer model = load_model(name, data);
    rows.push_back({name, model.has_experts() ? "experts" : "dense", attention_text(model),
                    attention_evidence(sources, model, "fwd"), attention_evidence(sources, model, "bwd")});
    for (const FrameworkProfile& profile : profiles)
      rows.back().push_back(cell_of(profile.fitted_on.models, model.name));
  }
  return formats_detail::text_table(rows);
}

}  // namespace packsim
