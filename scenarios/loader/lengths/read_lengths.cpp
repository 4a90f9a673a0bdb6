#include "scenarios/loader/lengths/read_lengths.hpp"

#include <array>

#include "files/read_file.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/lengths/length_formats.hpp"

namespace packsim {
namespace {

struct Format {
  std::string_view extension;
  std::vector<std::int32_t> (*parse)(std::string_view bytes, BadRows& bad_rows);
};

constexpr std::array<Format, 4> kFormats = {{
    {".csv", length_formats::csv},
    {".jsonl", length_formats::jsonl},
    {".npy", length_formats::npy},
    {".json", length_formats::histogram},
}};

const Format* format_of(const std::string& path) {
  for (const Format& format : kFormats) {
    if (path.ends_with(format.extension)) return &format;
  }
  return nullptr;
}

}  // namespace

std::vector<std::int32_t> parse_lengths(const std::string& path, std::string_view bytes, Problems& problems) {
  const Format* format = format_of(path);
  if (format == nullptr) {
    problems.add({.file = "",
                  .place = "lengths",
                  .expected = "a file of a known kind (" + lengths_file_kinds() + ")",
                  .got = quote(path)});
    return {};
  }
  BadRows bad_rows(path, problems);
  std::vector<std::int32_t> lengths_tokens = format->parse(bytes, bad_rows);
  // A data set of nothing is a mistake of whoever wrote it, and no metric is defined for it.
  if (lengths_tokens.empty() && bad_rows.count() == 0) {
    bad_rows.add("whole file", "at least one length", bytes.empty() ? "an empty file" : "none");
  }
  return lengths_tokens;
}

std::vector<std::int32_t> read_lengths(const std::string& path) {
  Problems problems;
  std::vector<std::int32_t> lengths_tokens;
  if (is_lengths_file(path)) {
    lengths_tokens = parse_lengths(path, read_file(path, kMostDataBytes), problems);
  } else {
    parse_lengths(path, "", problems);  // says which kinds there are
  }
  problems.throw_if_any();
  return lengths_tokens;
}

bool is_lengths_file(const std::string& path) {
  return format_of(path) != nullptr;
}

std::string lengths_file_kinds() {
  std::string kinds;
  for (const Format& format : kFormats) kinds += (kinds.empty() ? "" : ", ") + std::string(format.extension);
  return kinds;
}

}  // namespace packsim
