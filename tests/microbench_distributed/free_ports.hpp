#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/microbench/distributed/processes/connection.hpp"

namespace packsim::microbench {

/// Different ports that nobody listens on just now. Give a run several: another program may take one.
inline std::vector<std::uint16_t> free_ports(int n) {
  std::string why;
  std::vector<Socket> listeners;
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < n; ++i) {
    listeners.push_back(listen_on(0, true, why));
    ports.push_back(port_of(listeners.back()));
  }
  return ports;
}

}  // namespace packsim::microbench
