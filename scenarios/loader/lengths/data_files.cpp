#include "scenarios/loader/lengths/data_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "files/shell_quoted.hpp"

namespace packsim {
namespace {

// The endings in python/packsim/lengths/formats.py that read_lengths() does not read itself.
constexpr std::array<std::string_view, 11> kEndings = {
    ".parquet",    ".arrow", ".jsonl.gz", ".jsonl.zst", ".ndjson", ".ndjson.gz",
    ".ndjson.zst", ".idx",   ".tar",      ".tar.gz",    ".tgz",
};

}  // namespace

bool is_data_to_measure(const std::string& path) {
  std::error_code ignored;
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return path.ends_with(ending); }) ||
         std::filesystem::is_directory(path, ignored);
}

std::string measuring_command(const std::string& path, const std::string& column) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.empty()) name = std::filesystem::path(path).parent_path().filename();
  while (name.has_extension() && name.has_stem()) name = name.stem();
  return fmt::format("python -m packsim.lengths {} --column {} --tokenizer tokenizer.json --out {}",
                     shell_quoted(path), shell_quoted(column), shell_quoted(name.string() + ".npy"));
}

}  // namespace packsim
