#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/cluster.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// A network: a file of models/networks, or an object of the same form. gpu and gpus_per_node are those of
/// the cluster; a link whose rate is "nvlink" or "pcie" has the GPU's.
NetworkDesign read_network_design(JsonReader reader, const Gpu& gpu, int gpus_per_node);

/// The member "network" of a cluster type or of a scenario's cluster where it names a network: a file of
/// models/networks, or a path, which may be relative to from_folder. cluster: null
/// where it could not be read; then the network is not either. problems: the reader's.
std::optional<NetworkDesign> read_named_network(JsonReader& reader, const std::string& from_folder,
                                                const Cluster* cluster, const DataPaths& data,
                                                Problems& problems);

/// Reports at `key` if some GPU of the cluster has no path to another.
void check_network_paths(JsonReader& reader, std::string_view key, const Cluster& cluster);

}  // namespace packsim
