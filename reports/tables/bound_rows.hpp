#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// What a lower bound consists of. The parts add up to it.
struct BoundPart {
  std::string_view name;
  double (*gpu_days)(const BoundResult&);
};
std::span<const BoundPart> bound_parts();

/// The report's lower bounds, a row each, with the titles in front: GPU-days and what they consist of.
std::vector<std::vector<std::string>> bound_rows(const Report& report);

inline constexpr std::string_view kBoundNote =
    "Lower bound: no packing and schedule of the baseline's samples can take fewer GPU-days, with every "
    "sample whole in one pack, at any SP degree, on these GPUs, in iterations no larger than the "
    "strategies', and "
    "with as little recomputation as memory allows.";

}  // namespace packsim::formats_detail
