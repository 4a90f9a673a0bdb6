#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "models/network/network_graph.hpp"

namespace packsim {

/// What paths in a node are compared by: first the time of a byte over all links, then the number of links.
struct PathCost {
  double s_per_byte = std::numeric_limits<double>::infinity();
  int n_links = std::numeric_limits<int>::max();

  bool reachable() const { return n_links != std::numeric_limits<int>::max(); }
  auto operator<=>(const PathCost&) const = default;
};

/// The cost of two paths, one after the other.
PathCost operator+(const PathCost& one, const PathCost& other);

/// The fastest paths from GPUs to the GPUs and NICs of the same node. Data passes through NVSwitches, PCIe
/// switches and the host. All nodes are alike, so only the paths of node 0 are kept.
class NodePaths {
 public:
  explicit NodePaths(const NetworkGraph& graph);

  int n_gpus() const { return n_gpus_; }
  int n_nics() const { return n_nics_; }
  /// The cost of a path. A GPU does not reach itself.
  PathCost gpu_cost(int from_gpu, int to_gpu) const { return paths_[place(from_gpu, to_gpu)].cost; }
  PathCost nic_cost(int gpu, int nic) const { return paths_[place(gpu, n_gpus_ + nic)].cost; }
  /// Indices of links, in order; empty if there is no path. The way back has the other link of each pair.
  std::span<const std::uint32_t> gpu_links(int from_gpu, int to_gpu) const;
  std::span<const std::uint32_t> nic_links(int gpu, int nic) const;

  /// What each GPU can send to the others of its node while all of them send equally much to each other,
  /// limited by the slowest link. 0 if a GPU does not reach another, infinite if no link has a rate.
  double exchange_bytes_per_s(const NetworkGraph& graph) const;

 private:
  struct Path {
    PathCost cost = {};
    std::uint32_t first = 0;  // in links_
    std::uint32_t n = 0;
  };

  std::size_t place(int gpu, int end) const {
    return static_cast<std::size_t>(gpu) * static_cast<std::size_t>(n_gpus_ + n_nics_) +
           static_cast<std::size_t>(end);
  }
  std::span<const std::uint32_t> links_of(const Path& path) const;

  int n_gpus_ = 0;
  int n_nics_ = 0;
  std::vector<Path> paths_;  // [GPU][its GPUs, then its NICs]
  std::vector<std::uint32_t> links_;
};

}  // namespace packsim
