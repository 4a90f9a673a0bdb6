#pragma once

#include <string>
#include <string_view>

namespace packsim {

/// XXH3, 128 bits, as 32 hexadecimal digits: what the xxh128sum program prints.
std::string hash_of(std::string_view bytes);

/// The text behind the mark that some editors put in front of UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace packsim
