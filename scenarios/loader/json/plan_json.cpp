#include "scenarios/loader/json/plan_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace packsim {

Json plan_json(const ParallelPlan& plan, std::initializer_list<PlanPart> parts) {
  Json json = Json::object();
  for (const PlanKey& key : plan_keys()) {
    if (std::ranges::find(parts, key.part) == parts.end()) continue;
    std::visit([&](const auto& value) { json[std::string(key.name())] = value; }, key.get(plan));
  }
  return json;
}

Json parallelism_json(const ParallelPlan& plan) {
  return plan_json(plan, {PlanPart::training, PlanPart::parallelism});
}

Json group_json(std::int64_t capacity_tokens, const ParallelPlan& plan) {
  Json json = {{"capacity_tokens", capacity_tokens}};
  json.update(plan_json(plan, {PlanPart::group}));
  return json;
}

}  // namespace packsim
