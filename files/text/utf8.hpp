#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace packsim {

/// A character at the start of a text, or one byte that starts none.
struct Utf8Character {
  std::optional<char32_t> code_point;  ///< none: the byte is not UTF-8 (RFC 3629)
  std::size_t n_bytes = 1;
};

/// The first character of a text that is not empty. Overlong forms and surrogates are not UTF-8.
Utf8Character first_character(std::string_view text);

}  // namespace packsim
