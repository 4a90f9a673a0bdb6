#include "cli/shared/moved_scenario.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

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

}  // namespace

Json moved_scenario(const Scenario& scenario, const std::string& to, const DataPaths& data) {
  Json root = *scenario.json;
  const PathMover mover(scenario, to, data);
  mover.move_named(root, "model", kModelFiles);
  mover.move_named(root["cluster"], "type", kClusterFiles);
  mover.move_named(root["cluster"], "network", kNetworkFiles);
  mover.move_named(root, "trainer", kTrainerFiles);
  mover.move_named(root, "profile", kProfileFiles);
  mover.move_named(root, "hardware", kHardwareProfileFiles);
  for (Json& source : root["lengths"]["mix"]) mover.move_lengths(source);
  return root;
}

}  // namespace packsim
