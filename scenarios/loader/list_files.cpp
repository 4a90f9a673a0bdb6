#include "scenarios/loader/list_files.hpp"

#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"

namespace packsim {
namespace {

std::vector<ListedFile> list(const NamedFiles& kind, const DataPaths& data) {
  Problems problems;
  std::vector<ListedFile> files;
  for (const std::string& name : names_of(kind, data)) {
    const std::string path = path_of(kind, name, data);
    const JsonDocument document = read_json(path, problems, Comments::allowed);
    JsonReader reader(document, problems);
    reader.allow_any_keys();
    files.push_back({.name = name,
                     .description = reader.string("description", reader.string("source", "")),
                     .path = path});
  }
  problems.throw_if_any();
  return files;
}

}  // namespace

std::vector<ListedFile> list_models(const DataPaths& data) {
  return list(kModelFiles, data);
}
std::vector<ListedFile> list_clusters(const DataPaths& data) {
  return list(kClusterFiles, data);
}
std::vector<ListedFile> list_networks(const DataPaths& data) {
  return list(kNetworkFiles, data);
}
std::vector<ListedFile> list_profiles(const DataPaths& data) {
  return list(kProfileFiles, data);
}
std::vector<ListedFile> list_hardware_profiles(const DataPaths& data) {
  return list(kHardwareProfileFiles, data);
}
std::vector<ListedFile> list_scenarios(const DataPaths& data) {
  return list(kScenarioFiles, data);
}

}  // namespace packsim
