#include "cli/support/step_support.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>
#include <vector>

#include "cli/support/table_width.hpp"
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

// A row of text_table() with a list behind it, which is wrapped under itself; "-" for an empty list.
struct RowWithList {
  std::vector<std::string> cells;
  std::vector<std::string> list;
};

std::string table_with_lists(const std::vector<RowWithList>& rows) {
  Rows cells;
  for (const RowWithList& row : rows) cells.push_back(row.cells);
  std::istringstream lines(formats_detail::text_table(cells));
  std::string text;
  std::string line;
  for (const RowWithList& row : rows) {
    std::getline(lines, line);
    const std::string list = row.list.empty() ? "-" : fmt::format("{}", fmt::join(row.list, ", "));
    text +=
        formats_detail::wrapped(line + "  " + list, kTableWidthColumns, static_cast<int>(line.size()) + 2);
  }
  return text;
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

// The error of left-out steps, and that of their attention where it is far larger.
std::string left_out_text(const FrameworkProfile& profile) {
  constexpr std::size_t kAttention = 1;  // in the order of kFrameworkNumbers
  constexpr double kFarLarger = 0.1;
  if (!profile.left_out_error) return "-";
  std::string text = fmt::format("{:.0f} %", 100 * *profile.left_out_error);
  if (profile.log_covariance.empty()) return text;
  const double attention = std::sqrt(profile.log_covariance[kAttention * kNTimeFactors + kAttention]);
  if (attention > kFarLarger) text += fmt::format(", attention {:.0f} %", 100 * attention);
  return text;
}

}  // namespace

std::string profile_support_text(const DataPaths& data) {
  std::vector<RowWithList> rows = {{{"profile", "GPU of the steps", "GPUs", "left out"}, {"steps with"}}};
  for (const FrameworkProfile& profile : load_profiles(data)) {
    std::vector<std::string> traits;
    for (const PlanTrait trait : profile.fitted_on.traits) traits.emplace_back(plan_trait_kind(trait).text);
    rows.push_back(
        {{profile.name, profile.gpu, gpus_text(profile.fitted_on), left_out_text(profile)}, traits});
  }
  return table_with_lists(rows);
}

std::string trait_support_text() {
  Rows rows = {{"steps with", "error"}};
  for (const PlanTraitKind& kind : kPlanTraits)
    rows.push_back({std::string(kind.text), fmt::format("{:.0f} %", 100 * kind.error)});
  return formats_detail::text_table(rows);
}

std::string model_support_text(const KernelSources& sources, const DataPaths& data) {
  const std::vector<FrameworkProfile> profiles = load_profiles(data);
  std::vector<RowWithList> rows = {
      {{"model", "layers", "attention", "its forward", "its backward"}, {"profiles"}}};
  for (const std::string& name : names_of(kModelFiles, data)) {
    const Transformer model = load_model(name, data);
    std::vector<std::string> fitted;
    for (const FrameworkProfile& profile : profiles) {
      const std::vector<std::string>& models = profile.fitted_on.models;
      if (std::ranges::find(models, model.name) != models.end()) fitted.push_back(profile.name);
    }
    rows.push_back({{name, model.has_experts() ? "experts" : "dense", attention_text(model),
                     attention_evidence(sources, model, "fwd"), attention_evidence(sources, model, "bwd")},
                    fitted});
  }
  return table_with_lists(rows);
}

}  // namespace packsim
