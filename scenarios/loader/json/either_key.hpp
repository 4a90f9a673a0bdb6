#pragma once

#include <string_view>

#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// Refuses a key where another one says it all.
void refuse_beside(JsonReader& reader, std::string_view other, std::string_view key);
/// Whether to read the first of two keys that say the same in two ways: if it is there, or neither is.
/// Refuses both together.
bool is_first_key(JsonReader& reader, std::string_view first, std::string_view second);

}  // namespace packsim
