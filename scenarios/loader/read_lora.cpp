#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/plan_names.hpp"
#include "scenarios/loader/json/suggest.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

std::optional<LoraTargets> targets_of(const Json& value) {
  LoraTargets targets;
  if (value == kAllLinear) return targets;
  if (!value.is_array() || value.empty()) return std::nullopt;
  for (const Json& name : value) {
    const auto at = std::ranges::find_if(
        kLoraTargets, [&](const LoraTargetKind& kind) { return name.is_string() && name == kind.name; });
    if (at == kLoraTargets.end()) return std::nullopt;
    targets.add(static_cast<std::size_t>(at - kLoraTargets.begin()));
  }
  return targets;
}

}  // namespace

void read_lora(JsonReader& reader, int most_rank, ParallelPlan& plan) {
  constexpr std::string_view kTargetsKey = "lora_target_modules";
  plan.lora_rank = reader.integer("lora_rank", 0, most_rank, plan.lora_rank);
  plan.frozen_weights = reader.one_of("frozen_weights", kFrozenWeightsNames, plan.frozen_weights);
  const std::vector<std::string> all = {std::string(kAllLinear)};
  const std::vector<std::string> names = names_in(kLoraTargets);
  const Json* value = reader.word_or_array(kTargetsKey, all, names);
  if (value == nullptr) return;
  if (const std::optional<LoraTargets> targets = targets_of(*value)) {
    plan.lora_targets = *targets;
  } else {
    reader.refuse(kTargetsKey, fmt::format("{}, or an array of {}", kAllLinear, join(names)));
  }
}

}  // namespace packsim
