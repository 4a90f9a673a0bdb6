#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace packsim::testing {

/// A length as its digits say, with blanks around them; the longest one is 2^24.
inline std::optional<std::int64_t> naive_length(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  std::int64_t n_tokens = 0;
  for (const char c : text.substr(first, text.find_last_not_of(" \t") - first + 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    n_tokens = n_tokens * 10 + (c - '0');
    if (n_tokens > 16'777'216) return std::nullopt;
  }
  return n_tokens;
}

/// Without the mark of UTF-8 at the start and line ends at the end.
inline std::string_view naive_text(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  return text.substr(0, text.find_last_not_of("\r\n") + 1);  // npos + 1 is 0
}

}  // namespace packsim::testing
