#include "models/plan/plan_fields.hpp"

#include "models/plan/plan_names.hpp"

namespace packsim::plan_detail {

PlanValue CheckpointingField::get(const ParallelPlan& plan) {
  if (plan.checkpointing != Checkpointing::modules)
    return std::string(policy_name(kCheckpointingNames, plan.checkpointing));
  std::vector<std::string> modules;
  for (const LayerModuleKind& kind : kLayerModules)
    if (plan.recomputed_modules.has(kind.module)) modules.emplace_back(kind.name);
  return modules;
}

void CheckpointingField::set(ParallelPlan& plan, const PlanValue& value) {
  plan.recomputed_modules = {};
  if (const auto* const word = std::get_if<std::string>(&value)) {
    plan.checkpointing = row_named<kCheckpointingNames>(*word).value;
    return;
  }
  plan.checkpointing = Checkpointing::modules;
  for (const std::string& name : words_of(value))
    plan.recomputed_modules.add(row_named<kLayerModules>(name).module);
}

std::vector<std::string_view> OffloadField::words() {
  std::vector<std::string_view> names = names_of<kOffloadNames>();
  names.insert(names.begin(), kNoOffload);
  return names;
}

PlanValue OffloadField::get(const ParallelPlan& plan) {
  std::vector<std::string> names;
  for (const OffloadName& state : kOffloadNames)
    if (plan.offload.*state.state) names.emplace_back(state.name);
  if (names.empty()) return std::string(kNoOffload);
  if (names.size() == 1) return names.front();
  return names;
}

void OffloadField::set(ParallelPlan& plan, const PlanValue& value) {
  plan.offload = {};
  for (const std::string& name : words_of(value))
    if (name != kNoOffload) plan.offload.*row_named<kOffloadNames>(name).state = true;
}

std::vector<std::string_view> LoraTargetsField::words() {
  return {kAllLinear};
}

PlanValue LoraTargetsField::get(const ParallelPlan& plan) {
  if (plan.lora_targets.is_all()) return std::string(kAllLinear);
  const std::vector<std::string_view> names = plan.lora_targets.names();
  return std::vector<std::string>(names.begin(), names.end());
}

void LoraTargetsField::set(ParallelPlan& plan, const PlanValue& value) {
  plan.lora_targets = {};
  for (const std::string& name : words_of(value)) {
    if (name == kAllLinear) continue;
    plan.lora_targets.add(static_cast<std::size_t>(&row_named<kLoraTargets>(name) - kLoraTargets.data()));
  }
}

}  // namespace packsim::plan_detail
