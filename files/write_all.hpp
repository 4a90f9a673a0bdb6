#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace packsim {

/// Writes all bytes to a descriptor, however many calls that takes. Returns 0, or the system's error number.
inline int write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return EIO;  // a device that takes nothing, and says so
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace packsim
