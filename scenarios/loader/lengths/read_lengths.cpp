#include "scenarios/loader/lengths/read_lengths.hpp"

#include <fmt/format.h>

#include <array>

#include "files/read_file.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/lengths/data_files.hpp"
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

// What comes through a pipe has no extension; how it starts tells.
std::string_view piped_extension(std::string_view bytes) {
  constexpr std::size_t kStart = 1000;
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return ".csv";
  switch (bytes[first]) {
    case '\x93':
      return ".npy";
    case '{':
      return bytes.substr(first, kStart).find("\"histogram\"") == std::string_view::npos ? ".jsonl" : ".json";
    default:
      return ".csv";
  }
}

const Format* format_of(const std::string& path, std::string_view bytes = {}) {
  const std::string_view name = is_standard_input(path) ? piped_extension(bytes) : std::string_view(path);
  for (const Format& format : kFormats) {
    if (name.ends_with(format.extension)) return &format;
  }
  return nullptr;
}

}  // namespace

std::vector<std::int32_t> parse_lengths(const std::string& path, std::string_view bytes, Problems& problems) {
  const Format* format = format_of(path, bytes);
  if (format == nullptr) {
    problems.add(
        {.file = "", .place = "lengths", .expected = expected_lengths_file(path), .got = quote(path)});
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
    lengths_tokens = parse_lengths(
        path, read_file(is_standard_input(path) ? kStandardInputFile : path, kMostDataBytes), problems);
  } else {
    parse_lengths(path, "", problems);  // says which kinds there are
  }
  problems.throw_if_any();
  return lengths_tokens;
}

bool is_lengths_file(const std::string& path) {
  return format_of(path) != nullptr;
}

std::string expected_lengths_file(const std::string& path) {
  std::string kinds;
  for (const Format& format : kFormats) kinds += (kinds.empty() ? "" : ", ") + std::string(format.extension);
  const std::string expected = fmt::format("a file of a known kind ({})", kinds);
  if (!is_data_to_measure(path)) return expected;
  return fmt::format("{}, which {} makes of texts and, without --tokenizer, of token ids", expected,
                     measuring_command(path));
}

}  // namespace packsim
