#include "sim/network/collective_links.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>

#include "sim/network/link_uses.hpp"

namespace packsim {
namespace {

using network_detail::add_route;
using network_detail::merged;

void check_group(std::span<const int> gpus) {
  if (std::set<int>(gpus.begin(), gpus.end()).size() != gpus.size()) {
    throw std::logic_error("a group of " + std::to_string(gpus.size()) + " GPUs names one twice");
  }
}

}  // namespace

void network_detail::add_route(const Topology& topology, int from_gpu, int to_gpu, double bytes,
                               std::vector<LinkUse>& uses) {
  for (const LinkId link : topology.route(from_gpu, to_gpu)) uses.push_back({link, bytes});
}

std::vector<LinkUse> network_detail::merged(std::vector<LinkUse> uses) {
  std::ranges::stable_sort(uses, {}, &LinkUse::link);
  std::size_t n = 0;
  for (const LinkUse& use : uses) {
    if (n > 0 && uses[n - 1].link == use.link) {
      uses[n - 1].bytes += use.bytes;
    } else {
      uses[n++] = use;
    }
  }
  uses.resize(n);
  return uses;
}

std::vector<LinkUse> transfer_links(const Topology& topology, int from_gpu, int to_gpu, double bytes) {
  std::vector<LinkUse> uses;
  add_route(topology, from_gpu, to_gpu, bytes, uses);
  return merged(std::move(uses));
}

std::vector<LinkUse> ring_exchange_links(const Topology& topology, std::span<const int> gpus, double bytes) {
  check_group(gpus);
  std::vector<LinkUse> uses;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    add_route(topology, gpus[i], gpus[(i + 1) % gpus.size()], bytes, uses);
  }
  return merged(std::move(uses));
}

std::vector<LinkUse> collective_links(const Topology& topology, std::string_view op,
                                      std::span<const int> gpus, double payload_bytes) {
  check_group(gpus);
  return network_detail::algorithm_links(topology, collective_kind(op), gpus, payload_bytes);
}

std::vector<LinkUse> representative_links(const Topology& topology, std::span<const LinkUse> uses, int gpu) {
  std::vector<LinkUse> kept;
  for (const LinkUse& use : uses) {
    if (topology.is_link_of(use.link, gpu) || topology.is_shared(use.link)) kept.push_back(use);
  }
  return kept;
}

}  // namespace packsim
