#include "packing/options/token_count.hpp"

#include <charconv>
#include <limits>

namespace packsim {
namespace {

// 0 where the letter is no unit.
std::int64_t unit_tokens(char letter) {
  switch (letter) {
    case 'K':
    case 'k':
      return 1024;
    case 'M':
    case 'm':
      return 1024 * 1024;
    default:
      return 0;
  }
}

}  // namespace

bool counts_tokens(std::string_view name) {
  return name.ends_with("_tokens") || name == "tokens" || name == "tokens_per_iteration";
}

std::optional<std::int64_t> token_count_of(std::string_view text) {
  const std::int64_t unit = text.empty() ? 0 : unit_tokens(text.back());
  if (unit > 0) text.remove_suffix(1);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (unit == 0) return count;
  if (count < 0 || count > std::numeric_limits<std::int64_t>::max() / unit) return std::nullopt;
  return count * unit;
}

std::optional<std::int64_t> token_count_with_unit(std::string_view text) {
  if (text.empty() || unit_tokens(text.back()) == 0) return std::nullopt;
  return token_count_of(text);
}

std::string token_count_text(std::int64_t tokens) {
  const bool has_unit = tokens > 0 && tokens % 1024 == 0;
  return has_unit ? std::to_string(tokens / 1024) + "K" : std::to_string(tokens);
}

}  // namespace packsim
