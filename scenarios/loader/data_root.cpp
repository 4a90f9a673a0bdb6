#include "scenarios/loader/data_root.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace packsim {

std::string find_data_root(const std::string& binary) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (const char* set = std::getenv("PACKSIM_DATA"); set != nullptr && *set != '\0') {
    if (fs::is_directory(set, error)) return set;
    throw std::invalid_argument(fmt::format("PACKSIM_DATA: expected a folder, got \"{}\"", set));
  }
  fs::path folder = fs::canonical(binary, error);
  while (!error && folder.has_relative_path()) {
    folder = folder.parent_path();
    const fs::path data = folder / "share" / "packsim";
    if (fs::is_directory(data, error)) return data.string();
    error.clear();  // no such folder
  }
  return PACKSIM_SOURCE_DIR;
}

}  // namespace packsim
