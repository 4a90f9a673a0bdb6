#include "scenarios/loader/plan_checks.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace packsim {
void refuse_plan(JsonReader& reader, std::string_view key, const PlanMistake& mistake) {
  const Json* value = reader.value(key);
  if (mistake.keys.size() == 1 && value != nullptr && value->is_primitive()) {
    reader.refuse(key, mistake.expected);
    return;
  }
  const std::string names = mistake.keys.size() > 1 ? mistake.names() + " to be " : "";
  reader.refuse(key, names + mistake.expected, mistake.got);
}

void check_zero_stages(JsonReader& parent, JsonReader& said_in) {
  constexpr std::string_view kKey = "zero_stage";
  JsonReader parallelism = parent.optional_object("parallelism");
  parallelism.allow_any_keys();
  const Json* said = said_in.value(kKey);
  const Json* own = parallelism.value(kKey);
  if (said == nullptr || own == nullptr || *said == *own) return;
  parallelism.refuse(kKey, fmt::format("{}, as {} says", said->dump(), said_in.place(kKey)));
}

std::vector<std::string> check_plan(JsonReader& scenario, const PlanContext& context) {
  if (context.model == nullptr || context.cluster == nullptr) return {};
  JsonReader training = scenario.object("training");
  JsonReader parallelism = scenario.optional_object("parallelism");
  for (JsonReader* reader : {&training, &parallelism}) reader->allow_any_keys();
  check_zero_stages(scenario, training);
  std::vector<std::string> refused;
  for (const PlanMistake& mistake : plan_mistakes(*context.model, *context.cluster, context.plan)) {
    const std::string& key = mistake.keys.front();
    const bool is_of_training = key == "zero_stage" && !parallelism.has(key);
    refuse_plan(is_of_training ? training : parallelism, key, mistake);
    refused.insert(refused.end(), mistake.keys.begin(), mistake.keys.end());
  }
  return refused;
}

}  // namespace packsim
