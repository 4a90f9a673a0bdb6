#include "sim/network/group_links.hpp"

#include <algorithm>
#include <utility>

#include "sim/network/link_uses.hpp"

namespace packsim {
namespace {

std::vector<int> group_of(int first_gpu, int n_gpus, int stride) {
  std::vector<int> gpus(static_cast<std::size_t>(n_gpus));
  for (int i = 0; i < n_gpus; ++i) gpus[static_cast<std::size_t>(i)] = first_gpu + i * stride;
  return gpus;
}

}  // namespace

std::span<const LinkUse> GroupLinks::scaled(const std::vector<LinkUse>& of_one_byte, double bytes) {
  scaled_ = of_one_byte;
  for (LinkUse& use : scaled_) use.bytes *= bytes;
  return scaled_;
}

std::span<const LinkUse> GroupLinks::of_group(int gpu, const PassSegment& exchange) {
  const Key key{exchange.op, gpu, exchange.gpus, exchange.stride};
  const auto [place, is_new] = groups_.try_emplace(key);
  if (is_new) {
    const std::vector<int> gpus = group_of(gpu, exchange.gpus, exchange.stride);
    place->second = representative_links(topology_, collective_links(topology_, exchange.op, gpus, 1), gpu);
  }
  return scaled(place->second, static_cast<double>(exchange.bytes));
}

std::span<const LinkUse> GroupLinks::of_ring(int gpu, int n_gpus, int stride, double bytes) {
  const auto [place, is_new] = groups_.try_emplace(Key{"ring", gpu, n_gpus, stride});
  if (is_new) {
    const std::vector<LinkUse> all = ring_exchange_links(topology_, group_of(gpu, n_gpus, stride), 1);
    place->second = representative_links(topology_, all, gpu);
  }
  return scaled(place->second, bytes);
}

std::span<const LinkUse> GroupLinks::of_transfer(int from_gpu, int to_gpu, double bytes) {
  scaled_ = transfer_links(topology_, from_gpu, to_gpu, bytes);
  return scaled_;
}

std::span<const LinkUse> GroupLinks::of_states(std::string_view op, int first_gpu, int n_gpus, int stride,
                                               std::span<const int> representatives, double bytes) {
  const auto [place, is_new] = states_.try_emplace(Key{op, first_gpu, n_gpus, stride});
  if (is_new) {
    add_simulated(collective_links(topology_, op, group_of(first_gpu, n_gpus, stride), 1), representatives,
                  place->second);
  }
  return scaled(place->second, bytes);
}

std::span<const LinkUse> GroupLinks::of_replicas(const Replicas& replicas,
                                                 std::span<const int> representatives, double bytes) {
  const auto [place, is_new] =
      replicas_.try_emplace({replicas.first_gpu, replicas.shard_gpus, replicas.stride, replicas.n_groups});
  if (is_new) {
    for (int shard = 0; shard < replicas.shard_gpus; ++shard) {
      const std::vector<int> gpus = group_of(replicas.first_gpu + shard * replicas.stride, replicas.n_groups,
                                             replicas.stride * replicas.shard_gpus);
      add_simulated(collective_links(topology_, "all_reduce", gpus, 1), representatives, place->second);
    }
    place->second = network_detail::merged(std::move(place->second));
  }
  return scaled(place->second, bytes);
}

// Adds the uses of uplinks and of the representatives' links.
void GroupLinks::add_simulated(std::span<const LinkUse> all, std::span<const int> representatives,
                               std::vector<LinkUse>& uses) const {
  for (const LinkUse& use : all) {
    const bool is_theirs =
        std::ranges::any_of(representatives, [&](int gpu) { return topology_.is_link_of(use.link, gpu); });
    if (is_theirs || topology_.is_shared(use.link)) uses.push_back(use);
  }
}

}  // namespace packsim
