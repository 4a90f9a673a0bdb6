#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/plan_names.hpp"
#include "scenarios/loader/json/suggest.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

constexpr std::string_view kCheckpointingKey = "checkpointing";

std::optional<Checkpointing> checkpointing_named(const Json& word) {
  const auto at =
      std::ranges::find(kCheckpointingNames, word.get<std::string>(), &PolicyName<Checkpointing>::name);
  return at == kCheckpointingNames.end() ? std::nullopt : std::optional(at->value);
}

std::optional<LayerModules> modules_named(const Json& names) {
  LayerModules modules;
  for (const Json& name : names) {
    if (!name.is_string()) return std::nullopt;
    const auto at = std::ranges::find(kLayerModules, name.get<std::string>(), &LayerModuleKind::name);
    if (at == kLayerModules.end()) return std::nullopt;
    modules.add(at->module);
  }
  return modules.empty() ? std::nullopt : std::optional(modules);
}

}  // namespace

void read_checkpointing(JsonReader& reader, ParallelPlan& plan) {
  const std::vector<std::string> words = names_in(kCheckpointingNames);
  const std::vector<std::string> modules_known = names_in(kLayerModules);
  const Json* value = reader.word_or_array(kCheckpointingKey, words, modules_known);
  if (value == nullptr) return;
  std::optional<Checkpointing> word;
  std::optional<LayerModules> modules;
  if (value->is_string()) word = checkpointing_named(*value);
  if (value->is_array()) modules = modules_named(*value);
  if (!word && !modules) {
    return reader.refuse(kCheckpointingKey,
                         fmt::format("one of {}, or an array of {}", join(words), join(modules_known)));
  }
  plan.checkpointing = word.value_or(Checkpointing::modules);
  plan.recomputed_modules = modules.value_or(LayerModules{});
}

}  // namespace packsim
