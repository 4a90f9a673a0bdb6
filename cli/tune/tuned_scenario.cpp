#include "cli/tune/tuned_scenario.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/shared/moved_scenario.hpp"
#include "experiment/plans/plan_group.hpp"

namespace packsim {
namespace {

Json group_json(const Scenario& scenario, const TunedGroup& group) {
  Json json = {{"capacity_tokens", group.pack_tokens}, {"sp_degree", group.sequence.ulysses}};
  const GroupSpec spec{.capacity_tokens = group.pack_tokens,
                       .sequence = {.ulysses = group.sequence.ulysses},
                       .gc_layers = group.gc_layers};
  if (group.step_s && plan_group(scenario, scenario.plan, spec, group.pack_tokens, 1).feasible)
    json["gc_layers"] = group.gc_layers;
  return json;
}

}  // namespace

std::string tuned_scenario(const Scenario& scenario, std::span<const TunedGroup> groups,
                           const std::string& path, const DataPaths& data) {
  Json root = moved_scenario(scenario, path, data);
  Json strategy = {{"name", kTunedStrategy}, {"strategy", "hbp"}, {"groups", Json::array()}};
  for (const TunedGroup& group : groups) {
    strategy["groups"].push_back(group_json(scenario, group));
    // Groups were profiled without ring attention, whatever the default of the others is.
    if (root.contains("packing") && root["packing"].contains("cp_degree"))
      strategy["groups"].back()["cp_degree"] = 1;
  }
  Json& strategies = root["strategies"];
  const auto same = std::ranges::find_if(
      strategies, [](const Json& one) { return one.contains("name") && one["name"] == kTunedStrategy; });
  if (same != strategies.end()) {
    *same = std::move(strategy);
  } else {
    strategies.push_back(std::move(strategy));
  }
  return root.dump(2) + "\n";
}

}  // namespace packsim
