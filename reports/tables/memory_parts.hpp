#pragma once

#include <span>
#include <string_view>

#include "models/memory/peak_memory.hpp"

namespace packsim::formats_detail {

/// What holds a GPU's memory at its peak, as people read it. The parts add up to MemoryPeak::total_bytes().
struct MemoryPart {
  std::string_view name;
  double (*size_bytes)(const MemoryPeak& peak);
};

/// Charts stack the parts in this order.
std::span<const MemoryPart> memory_parts();

}  // namespace packsim::formats_detail
