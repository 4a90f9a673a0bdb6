#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace packsim::microbench {

/// What a process says of itself: the node that it runs on and the GPUs that it sees.
struct ProcessGpus {
  std::string node;
  std::vector<std::string>
      gpus;  ///< a name of each that is the same in every process (its UUID), in CUDA's order
};

/// Which GPUs each process drives: [n_processes], CUDA's numbers in that process. Processes of a node that
/// see the same GPUs share them out in order; processes that see different ones keep theirs. Throws
/// std::runtime_error where there are too few, and where the sets overlap without being the same.
std::vector<std::vector<int>> share_out_gpus(std::span<const ProcessGpus> processes);

/// One GPU of the run.
struct GpuPlace {
  int process = 0;
  int device = 0;  ///< CUDA's number in that process
  int node = 0;    ///< index in Topology::nodes
  bool operator==(const GpuPlace&) const = default;
};

/// All GPUs of the run: by node in the order of the nodes' first processes, then by process, then by device.
struct Topology {
  std::vector<std::string> nodes;
  std::vector<GpuPlace> gpus;
};

/// nodes: of each process; devices: CUDA's numbers that each process drives.
Topology make_topology(std::span<const std::string> nodes, std::span<const std::vector<int>> devices);

/// n_gpus spread evenly over the first n_nodes that have enough, in the topology's order; the position is
/// the rank in the group. Throws Unavailable: "needs 16 GPUs on 2 nodes, have 8 on 1".
std::vector<GpuPlace> choose_group(const Topology& topology, std::int64_t n_gpus, std::int64_t n_nodes);

}  // namespace packsim::microbench
