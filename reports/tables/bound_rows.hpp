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
/// Empty if there are none.
std::vector<std::vector<std::string>> bound_rows(const Report& report);

inline constexpr std::string_view kBoundNote =
    "Lower bound: at this ZeRO stage, no packing or schedule of the baseline's samples can take fewer "
    "GPU-days on these GPUs, at any SP degree, with every sample whole in one pack, iterations no larger "
    "than those of the runs, and as little recomputation as memory allows. Each run is compared with the "
    "bound of its own stage; that another stage has a lower bound does not say that a plan reaches it.";

}  // namespace packsim::formats_detail
