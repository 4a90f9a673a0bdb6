#pragma once

#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "models/step/step_price.hpp"
#include "sim/network/collective_links.hpp"
#include "sim/network/topology.hpp"

namespace packsim {

/// The links that the collectives of a step use, worked out once a group and scaled to their bytes. What it
/// returns holds until the next call.
class GroupLinks {
 public:
  /// Kept by reference.
  explicit GroupLinks(const Topology& topology) : topology_(topology) {}

  /// Of an exchange among the GPUs of a rank that does the same on all of them: `gpu` stands for the group
  /// that it is the first of.
  std::span<const LinkUse> of_group(int gpu, const PricedStage& exchange);
  /// Of a step of ring attention among n_gpus GPUs, each `stride` from the next, of which `gpu` is the first
  /// and stands for all.
  std::span<const LinkUse> of_ring(int gpu, int n_gpus, int stride, double bytes);
  std::span<const LinkUse> of_transfer(int from_gpu, int to_gpu, double bytes);
  /// Of a collective of n_gpus GPUs, each `stride` from the next, of which some stand for all.
  std::span<const LinkUse> of_states(std::string_view op, int first_gpu, int n_gpus, int stride,
                                     std::span<const int> representatives, double bytes);

 private:
  std::span<const LinkUse> scaled(const std::vector<LinkUse>& of_one_byte, double bytes);

  const Topology& topology_;
  // Op, which is a name that lasts, as all of collectives are; first GPU, GPUs, stride.
  using Key = std::tuple<std::string_view, int, int, int>;
  std::map<Key, std::vector<LinkUse>> groups_;  // of a byte
  std::map<Key, std::vector<LinkUse>> states_;
  std::vector<LinkUse> scaled_;
};

}  // namespace packsim
