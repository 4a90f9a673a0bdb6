#pragma once

#include <array>
#include <set>
#include <span>
#include <vector>

#include "scenarios/search_space/expert_degrees.hpp"
#include "scenarios/search_space/pipeline_degrees.hpp"
#include "scenarios/search_space/shard_degrees.hpp"
#include "scenarios/search_space/tensor_degrees.hpp"
#include "scenarios/search_space/zero_stages.hpp"

namespace packsim {

/// All dimensions. Each may look at what those before it have set.
inline constexpr std::array<const SearchDimension*, 5> kSearchDimensions = {
    &kTensorDegrees, &kPipelineDegrees, &kExpertDegrees, &kShardDegrees, &kZeroStages};

/// The values of a dimension that a search of the strategy's plan tries, ascending; the plan's own where it
/// is not searched.
std::vector<int> searched_values(const SearchDimension& dimension, const Scenario& scenario,
                                 const StrategySpec& spec);

/// The values of a dimension that some plans have.
std::set<int> values_of(const SearchDimension& dimension, std::span<const ParallelPlan> plans);

/// The plans that have a value of every dimension, in place of those of `plan`, and that model and cluster
/// allow.
std::vector<ParallelPlan> plans_of_space(const Scenario& scenario, const StrategySpec& spec,
                                         const ParallelPlan& plan);

}  // namespace packsim
