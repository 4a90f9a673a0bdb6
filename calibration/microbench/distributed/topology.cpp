#include "calibration/microbench/distributed/topology.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>

#include "calibration/microbench/core/family.hpp"

namespace packsim::microbench {
namespace {

std::string counted(std::int64_t n, const char* thing) {
  const bool ends_in_s = std::string_view(thing).ends_with('s');
  return std::to_string(n) + " " + thing + (n == 1 ? "" : ends_in_s ? "es" : "s");
}

}  // namespace

std::vector<std::vector<int>> share_out_gpus(std::span<const ProcessGpus> processes) {
  std::map<std::string, std::vector<std::size_t>> of_node;
  for (std::size_t i = 0; i < processes.size(); ++i) of_node[processes[i].node].push_back(i);
  std::vector<std::vector<int>> devices(processes.size());
  std::string mistakes;
  for (const auto& [node, members] : of_node) {
    const std::vector<std::string>& first = processes[members.front()].gpus;
    const bool all_the_same =
        std::ranges::all_of(members, [&](std::size_t i) { return processes[i].gpus == first; });
    if (all_the_same && first.size() >= members.size()) {
      for (std::size_t i = 0; i < members.size(); ++i) {
        const std::size_t begin = i * first.size() / members.size();
        const std::size_t end = (i + 1) * first.size() / members.size();
        for (std::size_t device = begin; device < end; ++device)
          devices[members[i]].push_back(static_cast<int>(device));
      }
      continue;
    }
    std::map<std::string, int> n_users;
    bool one_has_none = false;
    for (const std::size_t i : members) {
      one_has_none = one_has_none || processes[i].gpus.empty();
      for (std::size_t device = 0; device < processes[i].gpus.size(); ++device) {
        ++n_users[processes[i].gpus[device]];
        devices[i].push_back(static_cast<int>(device));
      }
    }
    const bool shared = std::ranges::any_of(n_users, [](const auto& user) { return user.second > 1; });
    if (!shared && !one_has_none) continue;
    mistakes += (mistakes.empty() ? "" : "\n") + ("node " + node) + ": expected a GPU for each of " +
                counted(static_cast<std::int64_t>(members.size()), "process") + ", got " +
                counted(static_cast<std::int64_t>(n_users.size()), "GPU") +
                (shared && !all_the_same ? ", some seen by several processes that see others, too" : "");
  }
  if (!mistakes.empty()) throw std::runtime_error(mistakes);
  return devices;
}

Topology make_topology(std::span<const std::string> nodes, std::span<const std::vector<int>> devices) {
  Topology topology;
  for (const std::string& node : nodes) {
    if (std::ranges::find(topology.nodes, node) == topology.nodes.end()) topology.nodes.push_back(node);
  }
  for (std::size_t node = 0; node < topology.nodes.size(); ++node) {
    for (std::size_t process = 0; process < nodes.size(); ++process) {
      if (nodes[process] != topology.nodes[node]) continue;
      for (const int device : devices[process])
        topology.gpus.push_back({static_cast<int>(process), device, static_cast<int>(node)});
    }
  }
  return topology;
}

std::vector<GpuPlace> choose_group(const Topology& topology, std::int64_t n_gpus, std::int64_t n_nodes) {
  if (n_gpus % n_nodes != 0) {
    throw Unavailable(counted(n_gpus, "GPU") + " cannot be spread evenly over " + counted(n_nodes, "node"));
  }
  const std::int64_t on_each = n_gpus / n_nodes;
  std::vector<GpuPlace> group;
  std::int64_t n_found = 0;
  for (std::size_t node = 0; node < topology.nodes.size() && n_found < n_nodes; ++node) {
    std::vector<GpuPlace> there;
    std::ranges::copy_if(topology.gpus, std::back_inserter(there),
                         [&](const GpuPlace& gpu) { return gpu.node == static_cast<int>(node); });
    if (static_cast<std::int64_t>(there.size()) < on_each) continue;
    group.insert(group.end(), there.begin(), there.begin() + on_each);
    ++n_found;
  }
  if (n_found == n_nodes) return group;
  throw Unavailable("needs " + counted(n_gpus, "GPU") + " on " + counted(n_nodes, "node") + ", have " +
                    std::to_string(topology.gpus.size()) + " on " + std::to_string(topology.nodes.size()));
}

}  // namespace packsim::microbench
