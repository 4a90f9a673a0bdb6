#include <stdexcept>
#include <string>

#include "sim/network/link_uses.hpp"

namespace packsim::network_detail {

std::vector<LinkUse> pair_links(const Topology& topology, const CollectiveKind& kind,
                                std::span<const int> gpus, double payload_bytes) {
  if (gpus.size() != 2) {
    throw std::logic_error(std::string(kind.name) + " among " + std::to_string(gpus.size()) + " GPUs");
  }
  std::vector<LinkUse> uses;
  add_route(topology, gpus[0], gpus[1], payload_bytes, uses);
  return merged(std::move(uses));
}

}  // namespace packsim::network_detail
