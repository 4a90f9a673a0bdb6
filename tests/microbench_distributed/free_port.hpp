#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>

#include "calibration/microbench/distributed/processes/connection.hpp"

namespace packsim::microbench {

/// A port that nobody listens on just now, another one at each call. Linux gives ports of 32768 and up to
/// other programs, and tests that run at the same time begin elsewhere.
inline std::uint16_t free_port() {
  static int n_tried = 0;
  std::string why;
  for (;;) {
    const auto port = static_cast<std::uint16_t>(20000 + (::getpid() * 131 + n_tried++) % 12000);
    if (listen_on(port, true, why).is_open()) return port;
  }
}

}  // namespace packsim::microbench
