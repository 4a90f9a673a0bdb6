#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/plan/settings_file.hpp"
#include "scenarios/loader/json/json_text.hpp"

namespace packsim {

/// A key of a settings file and its value; null is a flag that stands alone.
using SettingsValue = std::pair<std::string, Json>;

/// The file of these keys, with its text as a comment where the syntax has any. Keys that occur again replace
/// the ones before.
std::string settings_text(const SettingsFile& file, const std::vector<SettingsValue>& values);

}  // namespace packsim
