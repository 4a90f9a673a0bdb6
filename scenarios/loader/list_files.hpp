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

/// The files of a kind, sorted by name. Throws ScenarioError for files that are not JSON objects, FileError for
/// unreadable ones.
std::vector<ListedFile> list_files(const NamedFiles& kind, const DataPaths& data);

}  // namespace packsim
