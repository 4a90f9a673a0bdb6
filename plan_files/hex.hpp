#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace packsim {

/// 16 hexadecimal digits.
inline std::string hex(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4) *digit = kDigits[value & 15];
  return text;
}

}  // namespace packsim
