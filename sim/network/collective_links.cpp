#include "sim/network/collective_links.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>

#include "sim/network/link_uses.hpp"

namespace packsim {
namespace network_detail {

// Each is in the file of its name.
AlgorithmLinks direct_links;
AlgorithmLinks ring_links;
AlgorithmLinks pair_links;

}  // namespace network_detail

namespace {

using network_detail::add_route;
using network_detail::merged;

struct AlgorithmRow {
  CollectiveAlgorithm algorithm;
  network_detail::AlgorithmLinks* links;
};

constexpr std::array<AlgorithmRow, 3> kAlgorithms = {{
    {CollectiveAlgorithm::direct, network_detail::direct_links},
    {CollectiveAlgorithm::ring, network_detail::ring_links},
    {CollectiveAlgorithm::pair, network_detail::pair_links},
}};

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
  const CollectiveKind& kind = collective_kind(op);
  const auto* const row = std::ranges::find(kAlgorithms, kind.algorithm, &AlgorithmRow::algorithm);
  if (row == kAlgorithms.end()) throw std::logic_error("no links are known of " + std::string(op));
  return row->links(topology, kind, gpus, payload_bytes);
}

std::vector<LinkUse> representative_links(const Topology& topology, std::span<const LinkUse> uses, int gpu) {
  std::vector<LinkUse> kept;
  for (const LinkUse& use : uses) {
    if (topology.is_link_of(use.link, gpu) || topology.is_shared(use.link)) kept.push_back(use);
  }
  return kept;
}

}  // namespace packsim
