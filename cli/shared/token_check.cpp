#include "cli/shared/token_check.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "packing/options/token_count.hpp"
#include "scenarios/loader/json/json_text.hpp"

namespace packsim {

CLI::Validator token_check(std::int64_t low, std::int64_t high) {
  const auto read = [low, high](std::string& text) -> std::string {
    const std::optional<std::int64_t> count = token_count_of(text);
    if (!count || *count < low || *count > high)
      return fmt::format("expected tokens in {}..{}, such as 65536 or 64K, got {}", low, high, quote(text));
    text = std::to_string(*count);
    return "";
  };
  return {read, fmt::format("TOKENS in {}..{}", low, high), "tokens"};
}

}  // namespace packsim
