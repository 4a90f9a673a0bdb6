#pragma once

#include <string>

#include "experiment/advice/advise.hpp"

namespace packsim {

/// The advice for people: changes that save GPU-days, the largest saving first, each with the settings that
/// make it; then those that bring nothing, and those that cannot be made.
std::string advice_text(const Advice& advice, int width_columns);
std::string advice_json(const Advice& advice);

}  // namespace packsim
