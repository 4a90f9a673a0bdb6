#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace packsim {

/// Objects keep the order of the file, and with it the order in which mistakes are reported.
using Json = nlohmann::ordered_json;

/// The value of a number that is written as an integer and fits.
std::optional<std::int64_t> integer_of(const Json& value);

/// What came, for a message: `"4" (string)`, `4096 (number)`, `null`. Long values are abbreviated.
std::string describe(const Json& value);

/// Any bytes as a JSON string that prints on one line, abbreviated.
std::string quote(std::string_view bytes);

/// A key as one step of a JSON pointer, printable.
std::string pointer_step(std::string_view key);

}  // namespace packsim
