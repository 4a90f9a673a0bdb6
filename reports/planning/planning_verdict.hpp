#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/planning/planning_data.hpp"

namespace packsim {

/// Points that are not compared for the same reason, but for the numbers in it.
struct ReasonClass {
  PointStanding standing = PointStanding::refused;
  std::string example;              ///< the first line of the first reason
  std::vector<std::size_t> points;  ///< indices, ascending
};

/// The most frequent first, equals in the order of their first points.
std::vector<ReasonClass> reason_classes(const PlanningData& data);

/// "at most 12 h and 900 of money with 90% confidence"; empty without limits.
std::string limits_text(const PlanningLimits& limits);

/// The answer of a page in sentences, as plain text.
struct PlanningVerdict {
  std::string best;                  ///< the cheapest and the fastest point, or that there is none
  std::string counts;                ///< how many points there are of each standing
  std::vector<std::string> reasons;  ///< the most frequent ones, at most three
};

PlanningVerdict planning_verdict(const PlanningData& data);

/// "hbp on 32 GPUs, cluster.nodes 4, training.zero_stage 1": what a point is.
std::string point_text(const PlanningData& data, std::size_t index);

}  // namespace packsim
