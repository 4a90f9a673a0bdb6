#include "cli/shared/written_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "files/file_error.hpp"
#include "files/inputs.hpp"
#include "files/read_file.hpp"
#include "files/write_file.hpp"

namespace packsim {
namespace {

constexpr std::string_view kHeading =
    "# What packsim wrote into this folder, so that it can tell its files from yours (docs/files.md)\n";
constexpr std::size_t kHashDigits = 32;
constexpr std::string_view kBetween = "  ";

// Empty where there is none.
std::string record_at(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "";
  try {
    std::string text = read_file(path);
    release_input(path);  // as this class writes it
    return text;
  } catch (const FileError& error) {
    if (error.code().value() != EACCES) throw;
  } catch (const UnusableFileError&) {  // such as a folder
  }
  return "";
}

}  // namespace

WrittenFiles::WrittenFiles(const std::string& folder)
    : path_((std::filesystem::path(folder) / kName).string()), text_(record_at(path_)) {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.substr(0, kHashDigits).find_first_not_of("0123456789abcdef") != std::string_view::npos ||
        line.substr(std::min(line.size(), kHashDigits), kBetween.size()) != kBetween)
      continue;
    hashes_[std::string(line.substr(kHashDigits + kBetween.size()))].emplace_back(
        line.substr(0, kHashDigits));
  }
}

bool WrittenFiles::has(const std::string& name, const std::string& hash) const {
  const auto known = hashes_.find(name);
  return known != hashes_.end() && std::ranges::find(known->second, hash) != known->second.end();
}

void WrittenFiles::set(const std::string& name, std::vector<std::string> hashes) {
  if (name.find('\n') == std::string::npos) hashes_[name] = std::move(hashes);
}

void WrittenFiles::save() const {
  std::string text(kHeading);
  for (const auto& [name, hashes] : hashes_) {
    for (const std::string& hash : hashes) {
      text += hash;
      text += kBetween;
      text += name + "\n";
    }
  }
  if (text != text_) write_file(path_, text);
}

}  // namespace packsim
