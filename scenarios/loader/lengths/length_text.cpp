#include "scenarios/loader/lengths/length_text.hpp"

#include <fmt/format.h>

#include <charconv>

#include "scenarios/loader/limits.hpp"

namespace packsim {

bool is_length(std::int64_t n_tokens) {
  return n_tokens >= 0 && n_tokens <= kMostTokens;
}

std::optional<std::int32_t> length_from_text(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  std::uint32_t n_tokens = 0;  // unsigned: from_chars takes no sign then
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n_tokens);
  if (error != std::errc() || end != text.data() + text.size() || !is_length(n_tokens)) return std::nullopt;
  return static_cast<std::int32_t>(n_tokens);
}

std::optional<std::int32_t> length_from_json(const Json& value) {
  const std::optional<std::int64_t> n_tokens = integer_of(value);
  return n_tokens && is_length(*n_tokens) ? std::optional(static_cast<std::int32_t>(*n_tokens))
                                          : std::nullopt;
}

std::string length_range() {
  return fmt::format("integer in 0..{}", kMostTokens);
}

std::string_view without_last_line_ends(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace packsim
