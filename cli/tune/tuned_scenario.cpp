#include "cli/tune/tuned_scenario.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiment/plans/plan_strategy.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

// A file found from the current folder, as seen from another one, whose path is absolute. It stays a path,
// not a name.
std::string seen_from(const fs::path& folder, const std::string& file) {
  const fs::path relative = fs::proximate(fs::absolute(file), folder);
  return relative.has_parent_path() ? relative.string() : (fs::path(".") / relative).string();
}

bool is_relative(const std::string& path) {
  return fs::path(path).is_relative();
}

class PathMover {
 public:
  PathMover(const Scenario& scenario, const std::string& to, const DataPaths& data)
      : from_(fs::path(scenario.path).parent_path().string()),
        to_(fs::absolute(to).parent_path()),
        data_(data) {}

  // A model, cluster type or profile, where it is not named but given by its path.
  void move_named(Json& object, const char* key, const NamedFiles& kind) const {
    if (!object.contains(key)) return;
    const std::string name = object[key].get<std::string>();
    if (is_path(name) && is_relative(name))
      object[key] = seen_from(to_, find_named_file(kind, name, from_, data_).path);
  }

  void move_lengths(Json& source) const {
    const std::string name = source["source"].get<std::string>();
    const std::string shipped = (fs::path(data_.root) / "scenarios" / "lengths" / name).string();
    const std::string path = find_lengths_file(name, from_, data_).path;
    if (is_relative(name) && path != shipped) source["source"] = seen_from(to_, path);
  }

 private:
  std::string from_;
  fs::path to_;
  const DataPaths& data_;
};

void move_paths(Json& root, const Scenario& scenario, const std::string& to, const DataPaths& data) {
  const PathMover mover(scenario, to, data);
  mover.move_named(root, "model", kModelFiles);
  mover.move_named(root["cluster"], "type", kClusterFiles);
  mover.move_named(root["cluster"], "network", kNetworkFiles);
  mover.move_named(root, "profile", kProfileFiles);
  mover.move_named(root, "hardware", kHardwareProfileFiles);
  for (Json& source : root["lengths"]["mix"]) mover.move_lengths(source);
}

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
  Json root = *scenario.json;
  move_paths(root, scenario, path, data);
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
