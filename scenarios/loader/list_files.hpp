#pragma once

#include <string>
#include <vector>

#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// A file of the data root that a scenario or the command line can name.
struct ListedFile {
  std::string name;
  std::string description;  ///< or, where a file has none, its source
  std::string path;
};

/// Sorted by name. Throw ScenarioError for files that are not JSON objects, FileError for unreadable ones.
std::vector<ListedFile> list_models(const DataPaths& data);
std::vector<ListedFile> list_clusters(const DataPaths& data);
std::vector<ListedFile> list_networks(const DataPaths& data);
std::vector<ListedFile> list_profiles(const DataPaths& data);
std::vector<ListedFile> list_hardware_profiles(const DataPaths& data);
std::vector<ListedFile> list_scenarios(const DataPaths& data);

}  // namespace packsim
