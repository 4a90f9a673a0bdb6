#pragma once

#include <string>

namespace packsim {

/// The text with the letters a to z as capitals.
std::string upper(std::string text);

}  // namespace packsim
