#pragma once

#include <string>

#include "models/cluster.hpp"

namespace packsim::formats_detail {

/// What a cluster's network carries, in a few lines that end with a line break; empty if it is not stated.
std::string network_text(const Cluster& cluster);

}  // namespace packsim::formats_detail
