#pragma once

#include <string>
#include <string_view>

namespace packsim {

/// The bytes of a file. Throws FileError.
std::string read_file(const std::string& path);

/// XXH3, 128 bits, as 32 hexadecimal digits: what the xxh128sum program prints.
std::string hash_of(std::string_view bytes);

}  // namespace packsim
