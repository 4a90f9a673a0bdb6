#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/report.hpp"

namespace packsim::formats_detail {

/// The report's lower bounds, a row each, with the titles in front: GPU-days and what they consist of.
std::vector<std::vector<std::string>> bound_rows(const Report& report);

inline constexpr std::string_view kBoundNote =
    "GPU-days that no packing and schedule stays below: every sample whole in one pack, at any SP degree, on "
    "these GPUs, iterations no larger than the strategies', as little recomputed as memory allows. Samples "
    "are "
    "those that the baseline trains.";

}  // namespace packsim::formats_detail
