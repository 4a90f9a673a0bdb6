#pragma once

#include <cstdint>
#include <string>

namespace packsim {

/// A count as people read it: 1,234,567.
std::string grouped(std::int64_t count);

}  // namespace packsim
