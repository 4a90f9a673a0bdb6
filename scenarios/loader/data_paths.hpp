#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace packsim {

/// Where the files that come with packsim are: models/architectures, models/clusters, models/gpus,
/// models/networks, models/trainers, calibration/profiles, scenarios and scenarios/lengths under root.
struct DataPaths {
  std::string root;
};

/// How a command line and a source of lengths name standard input, which is read as the file below.
inline constexpr std::string_view kStandardInput = "-";
inline constexpr const char* kStandardInputFile = "/dev/stdin";

/// True for either name.
inline bool is_standard_input(std::string_view path) {
  return path == kStandardInput || path == kStandardInputFile;
}

/// A kind of JSON file that is named without folder and extension.
struct NamedFiles {
  std::string_view what;
  std::string_view folder;        ///< under the data root
  std::string_view listing = {};  ///< `packsim list` with this word lists them; empty: no word does
};

inline constexpr NamedFiles kModelFiles = {"model", "models/architectures", "models"};
inline constexpr NamedFiles kClusterFiles = {"cluster type", "models/clusters", "clusters"};
inline constexpr NamedFiles kGpuFiles = {"GPU", "models/gpus", "gpus"};
inline constexpr NamedFiles kNetworkFiles = {"network", "models/networks", "networks"};
inline constexpr NamedFiles kTrainerFiles = {"trainer", "models/trainers", "trainers"};
inline constexpr NamedFiles kSettingsFiles = {"settings file", "models/trainers/settings"};
inline constexpr NamedFiles kProfileFiles = {"profile", "calibration/profiles", "profiles"};
inline constexpr NamedFiles kScenarioFiles = {"scenario", "scenarios", "scenarios"};

/// A file that was looked for: its path or, where there is none, what to tell the user.
struct FoundFile {
  std::string path;
  std::string expected = {};
  std::string got = {};

  bool found() const { return !path.empty(); }
};

/// True for what is a path rather than a name: it has a '/' or ends in ".json".
bool is_path(const std::string& name_or_path);

/// A path, relative to from_folder or else to the current folder, or the name of a file of the data root.
FoundFile find_named_file(const NamedFiles& kind, const std::string& name, const std::string& from_folder,
                          const DataPaths& data);

/// A path relative to from_folder, else to the current folder, else to the shipped length data.
FoundFile find_lengths_file(const std::string& path, const std::string& from_folder, const DataPaths& data);

/// The names of a kind, sorted; none where the folder does not exist.
std::vector<std::string> names_of(const NamedFiles& kind, const DataPaths& data);

/// Where the file of that name is.
std::string path_of(const NamedFiles& kind, const std::string& name, const DataPaths& data);

}  // namespace packsim
