#pragma once

#include <cstdint>

namespace packsim {

/// The most memory that this process has had so far.
std::int64_t peak_memory_bytes();

}  // namespace packsim
