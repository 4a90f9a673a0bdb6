#pragma once

#include <cstddef>
#include <string>

#include "recommend/recommend.hpp"

namespace packsim {

/// A table for each type of cluster: of each number of GPUs the best candidate, or why there is none. Numbers
/// of GPUs beside each other that were not simulated, for the same reason, share a row.
std::string cluster_tables(const Recommendation& found, int width_columns);

std::size_t n_clusters(const Recommendation& found);

}  // namespace packsim
