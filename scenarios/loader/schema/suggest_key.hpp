#pragma once

#include <span>
#include <string>

#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// What to say of a key that an object of a scenario does not have: the key of the object, or of another
/// place of scenarios, that was probably meant ("did you mean cluster.gpu_hour_price?"), what to use instead
/// of a word of other tools, or the keys that the object has. place: the object's JSON pointer; known: its
/// keys. Other places are those of pages_of_keys(), if these can be read.
std::string suggest_scenario_key(const std::string& place, const std::string& key,
                                 std::span<const std::string> known, const DataPaths& data);

}  // namespace packsim
