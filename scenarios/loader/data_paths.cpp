#include "scenarios/loader/data_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".json";

// A path that cannot be looked at is as good as missing; one that can be looked at but not read is opened,
// and the system says why it refuses.
bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

FoundFile find_file(const std::string& path, const std::vector<std::string>& folders) {
  std::vector<std::string> looked_in;
  for (const std::string& folder : folders) {
    const fs::path candidate = fs::path(folder) / path;  // an absolute path stays what it is
    if (is_file(candidate)) return {.path = candidate.string()};
    const std::string shown = folder.empty() ? "." : folder;
    if (std::ranges::find(looked_in, shown) == looked_in.end()) looked_in.push_back(shown);
  }
  const std::string places = fs::path(path).is_absolute() ? "" : ": looked in " + join(looked_in);
  return {.path = {}, .expected = "a file", .got = fmt::format("{} (no such file{})", quote(path), places)};
}

// The shipped names that a path resembles, such as that of a Hugging Face repository.
std::string hint_for_path(const NamedFiles& kind, const std::string& path, const DataPaths& data) {
  std::string name = fs::path(path).filename().string();
  if (name.ends_with(kExtension)) name.resize(name.size() - kExtension.size());
  const std::string meant = did_you_mean(nearest_names(name, names_of(kind, data)));
  return meant.empty() ? "" : " (" + meant + ")";
}

}  // namespace

bool is_path(const std::string& name_or_path) {
  return name_or_path.find('/') != std::string::npos || name_or_path.ends_with(kExtension);
}

FoundFile find_named_file(const NamedFiles& kind, const std::string& name, const std::string& from_folder,
                          const DataPaths& data) {
  if (is_path(name)) {
    FoundFile file = find_file(name, {from_folder, ""});
    if (!file.found()) file.expected += hint_for_path(kind, name, data);
    return file;
  }
  const std::string path = path_of(kind, name, data);
  if (is_file(path)) return {.path = path};
  const std::string listing = kind.listing.empty() ? "" : fmt::format("packsim list {}", kind.listing);
  return {.path = {},
          .expected = fmt::format("the name of a {} ({}) or the path of a .json file", kind.what,
                                  suggest(name, names_of(kind, data), listing)),
          .got = quote(name) + " (string)"};
}

FoundFile find_lengths_file(const std::string& path, const std::string& from_folder, const DataPaths& data) {
  if (is_standard_input(path)) return {.path = kStandardInputFile};
  return find_file(path, {from_folder, "", (fs::path(data.root) / "scenarios" / "lengths").string()});
}

std::vector<std::string> names_of(const NamedFiles& kind, const DataPaths& data) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(data.root) / kind.folder, missing)) {
    if (entry.path().extension() == kExtension && is_file(entry.path()))
      names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string path_of(const NamedFiles& kind, const std::string& name, const DataPaths& data) {
  return (fs::path(data.root) / kind.folder / (name + std::string(kExtension))).string();
}

}  // namespace packsim
