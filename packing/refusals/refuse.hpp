#pragma once

#include <stdexcept>
#include <string>

namespace packsim {

/// Throws std::invalid_argument. what: the message, which starts with the name of the wrong argument.
[[noreturn]] inline void refuse(const std::string& what) {
  throw std::invalid_argument(what);
}

}  // namespace packsim
