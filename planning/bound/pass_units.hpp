#pragma once

#include <vector>

#include "planning/bound/pipeline_chain.hpp"

namespace packsim {

/// Those of the times that can be the least for some weights of the two directions, neither below 0:
/// the corners of their convex hull on that side, the shortest forward passes first. The time of any of them,
/// so weighted, is at least that of one of these.
std::vector<PassTimes> least_passes(std::vector<PassTimes> times);

}  // namespace packsim
