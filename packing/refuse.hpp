#pragma once

#include <stdexcept>
#include <string>

namespace packsim {

/// Throws std::invalid_argument: what is wrong with an argument, its place first.
[[noreturn]] inline void refuse(const std::string& what) {
  throw std::invalid_argument(what);
}

}  // namespace packsim
