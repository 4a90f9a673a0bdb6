#pragma once

#include <string>

namespace packsim {

/// A word as a shell reads it back: quoted where it has to be.
std::string shell_quoted(const std::string& word);

}  // namespace packsim
