#include "cli/shared/data_root.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace packsim {

std::string find_data_root() {
  std::error_code error;
  if (const char* set = std::getenv("PACKSIM_DATA"); set != nullptr && *set != '\0') {
    if (std::filesystem::is_directory(set, error)) return set;
    throw std::invalid_argument(fmt::format("PACKSIM_DATA: expected a folder, got \"{}\"", set));
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed = program.parent_path().parent_path() / "share" / "packsim";
  if (!error && std::filesystem::is_directory(installed, error)) return installed.string();
  return PACKSIM_SOURCE_DIR;
}

}  // namespace packsim
