#include "reports/text/escape.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "files/text/utf8.hpp"
#include "files/text/visible.hpp"

namespace packsim::formats_detail {
namespace {

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
