#include "scenarios/loader/plan_checks.hpp"

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

std::vector<std::string> check_plan(JsonReader& scenario, const PlanContext& context) {
  if (context.model == nullptr || context.cluster == nullptr) return {};
  JsonReader training = scenario.object("training");
  JsonReader parallelism = scenario.optional_object("parallelism");
  for (JsonReader* reader : {&training, &parallelism}) reader->allow_any_keys();
  std::vector<std::string> refused;
  for (const PlanMistake& mistake : plan_mistakes(*context.model, *context.cluster, context.plan)) {
    const std::string& key = mistake.keys.front();
    refuse_plan(key == "zero_stage" ? training : parallelism, key, mistake);
    refused.insert(refused.end(), mistake.keys.begin(), mistake.keys.end());
  }
  return refused;
}

}  // namespace packsim
