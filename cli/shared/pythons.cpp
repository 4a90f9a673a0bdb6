#include "cli/shared/pythons.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "cli/shared/child_process.hpp"
#include "scenarios/loader/json/json_text.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

std::string existing_program(const char* what, const std::string& path) {
  // A name without a folder is looked for as a shell does.
  const bool is_name = path.find('/') == std::string::npos;
  const std::string found = first_program(is_name ? places_on_path(path) : std::vector<std::string>{path});
  if (!found.empty()) return found;
  throw std::invalid_argument(fmt::format("{}: expected a Python interpreter, got {}", what, quote(path)));
}

}  // namespace

bool is_python_set() {
  const char* const set = std::getenv("PACKSIM_PYTHON");
  return set != nullptr && *set != '\0';
}

std::vector<std::string> python_interpreters(const std::string& given) {
  if (!given.empty()) return {existing_program("--python", given)};
  if (is_python_set()) return {existing_program("PACKSIM_PYTHON", std::getenv("PACKSIM_PYTHON"))};
  std::vector<std::string> found;
  const auto add = [&](const std::vector<std::string>& places) {
    if (const std::string python = first_program(places); !python.empty()) found.push_back(python);
  };
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) {
    add({(folder / "python3").string()});
    for (const char* venv : {".venv", ".venv-python"})
      add({(folder.parent_path() / venv / "bin" / "python3").string()});
  }
  add(places_on_path("python3"));
  return found;
}

}  // namespace packsim
