#pragma once

#include "models/cluster.hpp"
#include "models/kernels/hardware_profile.hpp"

namespace packsim {

LinkRates link_rates(const Cluster& cluster);

/// Seconds that the links need for the payload of a collective as its usual algorithm sends it: a ring passes
/// everything over each link, between the GPUs of a node and through their network cards; an all-reduce adds
/// up inside each node first, and goes along a tree of nodes; an all-to-all sends each GPU's part directly. 0
/// where a rate that it needs is not known.
double link_time_s(const LinkRates& rates, const KernelCase& kernel);

}  // namespace packsim
