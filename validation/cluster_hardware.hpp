#pragma once

#include <map>
#include <string>
#include <utility>

#include "models/kernels/transfer_profile.hpp"

namespace packsim {

/// A hardware profile on the clusters of published steps (profile_on()), each made once.
class ClusterHardware {
 public:
  explicit ClusterHardware(HardwareProfile measured) : measured_(std::move(measured)) {}

  const std::string& name() const { return measured_.name; }
  const HardwareProfile& on(const Cluster& cluster) {
    const auto [at, is_new] = on_cluster_.try_emplace({cluster.name, cluster.gpus_per_node});
    if (is_new) at->second = profile_on(measured_, cluster);
    return at->second;
  }

 private:
  HardwareProfile measured_;
  std::map<std::pair<std::string, int>, HardwareProfile> on_cluster_;  ///< by name and GPUs of a node
};

}  // namespace packsim
