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

/// The links that the collectives of a step use. They are worked out once for each group of GPUs, and scaled
/// to the bytes of each collective. What a call returns holds until the next call.
class GroupLinks {
 public:
  /// The topology is kept by reference.
  explicit GroupLinks(const Topology& topology) : topology_(topology) {}

  /// Links of an exchange among GPUs of one rank, which all do the same: `gpu`, the first of the group, is
  /// simulated for all of them.
  std::span<const LinkUse> of_group(int gpu, const PassSegment& exchange);
  /// Links of one step of ring attention among n_gpus GPUs, each `stride` from the next. `gpu`, the first of
  /// them, is simulated for all.
  std::span<const LinkUse> of_ring(int gpu, int n_gpus, int stride, double bytes);
  std::span<const LinkUse> of_transfer(int from_gpu, int to_gpu, double bytes);
  /// Links of a collective of n_gpus GPUs, each `stride` from the next; the representatives are simulated for
  /// all of them.
  std::span<const LinkUse> of_states(std::string_view op, int first_gpu, int n_gpus, int stride,
                                     std::span<const int> representatives, double bytes);
  /// The GPUs of neighbouring shard groups that hold the same weights.
  struct Replicas {
    int first_gpu = 0;   ///< of all groups
    int shard_gpus = 1;  ///< of each group
    int stride = 1;      ///< from one GPU of a group to the next
    int n_groups = 1;
  };
  /// Links of the all-reduces between replicas, which all shards of a group start at the same time; each GPU
  /// reduces so many bytes. The representatives are simulated for all GPUs.
  std::span<const LinkUse> of_replicas(const Replicas& replicas, std::span<const int> representatives,
                                       double bytes);

 private:
  std::span<const LinkUse> scaled(const std::vector<LinkUse>& of_one_byte, double bytes);
  void add_simulated(std::span<const LinkUse> all, std::span<const int> representatives,
                     std::vector<LinkUse>& uses) const;

  const Topology& topology_;
  // Name of the collective, which outlives this; first GPU, number of GPUs, stride.
  using Key = std::tuple<std::string_view, int, int, int>;
  std::map<Key, std::vector<LinkUse>> groups_;  // links of a payload of one byte
  std::map<Key, std::vector<LinkUse>> states_;
  // First GPU, GPUs of a group, stride, number of groups.
  std::map<std::tuple<int, int, int, int>, std::vector<LinkUse>> replicas_;
  std::vector<LinkUse> scaled_;
};

}  // namespace packsim
