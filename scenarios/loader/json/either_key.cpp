#include "scenarios/loader/json/either_key.hpp"

#include <fmt/format.h>

namespace packsim {

void refuse_beside(JsonReader& reader, std::string_view other, std::string_view key) {
  if (reader.value(key) != nullptr) reader.refuse(key, fmt::format("no such key beside {}", other));
}

bool is_first_key(JsonReader& reader, std::string_view first, std::string_view second) {
  if (reader.value(first) == nullptr) return reader.value(second) == nullptr;
  refuse_beside(reader, first, second);
  return true;
}

}  // namespace packsim
