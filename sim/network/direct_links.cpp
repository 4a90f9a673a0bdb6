#include "sim/network/link_uses.hpp"

namespace packsim::network_detail {

std::vector<LinkUse> direct_links(const Topology& topology, const CollectiveKind& kind,
                                  std::span<const int> gpus, double payload_bytes) {
  const double pair_bytes = kind.passes * payload_bytes / static_cast<double>(gpus.size());
  std::vector<LinkUse> uses;
  for (const int from : gpus) {
    for (const int to : gpus) add_route(topology, from, to, pair_bytes, uses);
  }
  return merged(std::move(uses));
}

}  // namespace packsim::network_detail
