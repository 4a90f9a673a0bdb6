#include "sim/network/group_links.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <numeric>

namespace packsim {
namespace {

// Six nodes of one GPU, three on each of two leaf switches.
Cluster two_leaves() {
  Cluster cluster{.name = "", .source = "", .gpu = {}};
  cluster.nodes = 6;
  cluster.gpus_per_node = 1;
  cluster.network = {
      .nvlink_bytes_per_s = 1e9, .nics_per_node = 1, .nic_bytes_per_s = 1e9, .nodes_per_leaf = 3};
  return cluster;
}

template <typename Counts>
double bytes_of(std::span<const LinkUse> uses, Counts counts) {
  double bytes = 0;
  for (const LinkUse& use : uses) bytes += counts(use.link) ? use.bytes : 0;
  return bytes;
}

TEST_CASE("Replicas reduce all shards of a group over the same uplinks") {
  const Topology topology(two_leaves());
  GroupLinks links(topology);
  // Groups of two neighbours: shard 0 is on GPUs 0, 2, 4 and shard 1 on 1, 3, 5. Each all-reduce is a ring of
  // three, every link of which carries 2 x 2/3 of the payload.
  const GroupLinks::Replicas replicas{.first_gpu = 0, .shard_gpus = 2, .stride = 1, .n_groups = 3};
  std::array<int, 6> gpus = {};
  std::iota(gpus.begin(), gpus.end(), 0);
  const std::span<const LinkUse> all = links.of_replicas(replicas, gpus, 300);
  // Both rings go up from leaf 0 and come down to leaf 1 once, and the other way.
  CHECK(bytes_of(all, [&](LinkId link) { return topology.is_shared(link); }) == Approx(4 * 2 * 400.0));
  for (const int gpu : gpus) {
    const auto is_its = [&](LinkId link) {
      return topology.is_link_of(link, gpu) && !topology.is_shared(link);
    };
    CHECK(bytes_of(all, is_its) == Approx(2 * 400.0));  // out and in
  }
  // Links of GPUs that nobody simulates are left out.
  const std::array<int, 1> first = {0};
  GroupLinks of_first(topology);
  const std::span<const LinkUse> simulated = of_first.of_replicas(replicas, first, 300);
  CHECK(bytes_of(simulated, [&](LinkId link) { return topology.is_link_of(link, 1); }) == 0);
  CHECK(bytes_of(simulated, [&](LinkId link) { return topology.is_link_of(link, 0); }) == Approx(2 * 400.0));
}

}  // namespace
}  // namespace packsim
