#include "reports/text/escape.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <iterator>
#include <vector>

#include "reports/text/utf8.hpp"

namespace packsim::formats_detail {
namespace {

struct CodePointRange {
  char32_t first;
  char32_t last;
};

// Characters that are not seen but change what is: Unicode 15.1, chapters 9.2 and 23, and UAX 9.
constexpr CodePointRange kUnseen[] = {
    {0x00, 0x1F},        // C0
    {0x7F, 0x9F},        // DEL, C1
    {0xAD, 0xAD},        // soft hyphen
    {0x61C, 0x61C},      // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x180E, 0x180E},    // Mongolian vowel separator
    {0x200B, 0x200F},    // zero-width spaces and joiners, direction marks
    {0x2028, 0x202E},    // line and paragraph separators, embeddings and overrides of direction
    {0x2060, 0x206F},    // word joiner, invisible operators, isolates of direction, deprecated formats
    {0x3164, 0x3164},    // Hangul filler
    {0xFE00, 0xFE0E},    // variation selectors; the last of them, U+FE0F, is part of many emoji
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // Hangul filler
    {0xFFF9, 0xFFFB},    // interlinear annotations
    {0x1D173, 0x1D17A},  // musical formats
    {0xE0000, 0xE0FFF},  // tags, variation selectors
};

bool is_noncharacter(char32_t c) {
  return (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFEU) == 0xFFFEU;
}

bool acts(char32_t c) {
  for (const CodePointRange& range : kUnseen) {
    if (c >= range.first && c <= range.last) return true;
  }
  return is_noncharacter(c);
}

std::string code_of(char32_t c) {
  const auto number = static_cast<std::uint32_t>(c);
  if (number <= 0xFF) return fmt::format("\\x{:02x}", number);
  return number <= 0xFFFF ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

// One character each, as it is shown; of `kept` the characters stay that would be escaped.
std::vector<std::string> shown_characters(std::string_view text, std::string_view kept) {
  std::vector<std::string> shown;
  while (!text.empty()) {
    const auto [code_point, n_bytes] = first_character(text);
    const bool stays =
        code_point && (!acts(*code_point) || (n_bytes == 1 && kept.find(text[0]) != std::string_view::npos));
    shown.push_back(stays ? std::string(text.substr(0, n_bytes))
                          : code_of(code_point.value_or(static_cast<unsigned char>(text[0]))));
    text.remove_prefix(n_bytes);
  }
  return shown;
}

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c == 0x7F) return false;  // all of UTF-8 but ASCII is negative or above
    if ((static_cast<unsigned char>(c) & 0x80U) != 0) return false;
  }
  return true;
}

std::string joined(const std::vector<std::string>& characters, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += characters[i];
  return text;
}

// Escapes what acts but not the characters of `kept`.
std::string visible(std::string_view text, std::string_view kept) {
  if (is_plain(text)) return std::string(text);
  const std::vector<std::string> characters = shown_characters(text, kept);
  return joined(characters, 0, characters.size());
}

bool is_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool has_digit = text.find_first_of("0123456789") != std::string_view::npos;  // not inf, nan
  return has_digit && error == std::errc() && end == text.data() + text.size();
}

bool looks_like_formula(std::string_view text) {
  constexpr std::string_view kStarts = "=+-@\t\r";
  return !text.empty() && kStarts.find(text[0]) != std::string_view::npos && !is_number(text);
}

// A character as JSON strings spell it, in UTF-16.
std::string json_code_of(char32_t c) {
  const auto number = static_cast<std::uint32_t>(c);
  if (number <= 0xFFFF) return fmt::format("\\u{:04x}", number);
  const std::uint32_t rest = number - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10U), 0xDC00 + (rest & 0x3FFU));
}

}  // namespace

std::string printable(std::string_view text, std::size_t most_characters) {
  if (text.size() <= most_characters && is_plain(text)) return std::string(text);
  const std::vector<std::string> characters = shown_characters(text, "");
  const std::size_t n = characters.size();
  if (n <= most_characters) return joined(characters, 0, n);
  const std::string gap = fmt::format(" ...({} characters)... ", n);
  const std::size_t shown = most_characters > gap.size() ? most_characters - gap.size() : 0;
  return joined(characters, 0, shown - shown / 2) + gap + joined(characters, n - shown / 2, n);
}

std::string printable_name(std::string_view name) {
  return printable(name, kLongestName);
}

std::string printable_lines(std::string_view text) {
  std::string lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines += printable(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string csv_field(std::string_view text) {
  const std::string field = (looks_like_formula(text) ? "'" : "") + visible(text, "\n\r\t");
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string html_escaped(std::string_view text) {
  std::string safe;
  for (const char c : visible(text, "\n\t")) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string script_escaped(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  while (!json.empty()) {
    const auto [code_point, n_bytes] = first_character(json);
    const char32_t c = code_point.value_or(0xFFFD);
    const bool is_space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (c == '<' || !code_point || (acts(c) && !is_space)) {
      safe += json_code_of(c);
    } else {
      safe += json.substr(0, n_bytes);
    }
    json.remove_prefix(n_bytes);
  }
  return safe;
}

}  // namespace packsim::formats_detail
