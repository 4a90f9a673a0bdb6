#include "experiment/peak_memory.hpp"

#include <sys/resource.h>

namespace packsim {

std::int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

}  // namespace packsim
