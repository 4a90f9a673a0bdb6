#pragma once

#include <vector>

#include "planning/bound/pipeline_chain.hpp"

namespace packsim {

/// The times that are the least for some weights of the two directions, neither below 0: the corners of the
/// convex hull on that side, the shortest forward passes first. With any such weights, every one of `times`
/// is at least as long as one of these.
std::vector<PassTimes> least_passes(std::vector<PassTimes> times);

}  // namespace packsim
