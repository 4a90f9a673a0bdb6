#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// The numbers from "from" to "to", which is the last one if it is met: each "step" more than the one before,
/// or "factor" times as large. They are integers where all three are. A key that counts tokens may have
/// "64K".
///
/// None where something is wrong, which is reported.
std::optional<std::vector<std::string>> read_range(JsonReader range, const std::string& key);

}  // namespace packsim
