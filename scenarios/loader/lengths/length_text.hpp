#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/loader/json/json_text.hpp"

namespace packsim {

/// A length written as digits, blanks around it allowed; nothing where it is anything else or over the
/// largest.
std::optional<std::int32_t> length_from_text(std::string_view text);
/// A length in JSON, written as an integer.
std::optional<std::int32_t> length_from_json(const Json& value);
/// A length that is computed.
bool is_length(std::int64_t n_tokens);

/// "integer in 0..16777216".
std::string length_range();

/// The text without the line ends at its end, of which there may be any number.
std::string_view without_last_line_ends(std::string_view text);

}  // namespace packsim
