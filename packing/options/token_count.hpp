#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace packsim {

/// Whether a number of this name counts tokens: a name ends with its unit.
bool counts_tokens(std::string_view name);

/// A number of tokens as people write it and reports print it: digits, with K or k behind them for 1024 and M
/// or m for 1024 x 1024. "64K" is 65536. Nothing where the text is anything else, or over 64 bits.
std::optional<std::int64_t> token_count_of(std::string_view text);

/// The same where it has such a letter: the only text that stands for a number in a scenario.
std::optional<std::int64_t> token_count_with_unit(std::string_view text);

/// The shortest of these texts: "64K" for 65536, "1500" for 1500.
std::string token_count_text(std::int64_t tokens);

}  // namespace packsim
