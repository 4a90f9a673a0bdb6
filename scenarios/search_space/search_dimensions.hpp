#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "scenarios/search_space/checkpointing_kinds.hpp"
#include "scenarios/search_space/expert_degrees.hpp"
#include "scenarios/search_space/key_exchanges.hpp"
#include "scenarios/search_space/loss_tiles.hpp"
#include "scenarios/search_space/mlp_tiles.hpp"
#include "scenarios/search_space/offloads.hpp"
#include "scenarios/search_space/pipeline_degrees.hpp"
#include "scenarios/search_space/precisions.hpp"
#include "scenarios/search_space/shard_degrees.hpp"
#include "scenarios/search_space/tensor_degrees.hpp"
#include "scenarios/search_space/virtual_stages.hpp"
#include "scenarios/search_space/zero_stages.hpp"

namespace packsim {

/// All dimensions. Each may look at what those before it have set.
inline constexpr std::array<const SearchDimension*, 12> kSearchDimensions = {
    &kTensorDegrees, &kPipelineDegrees, &kVirtualStages,      &kExpertDegrees,
    &kShardDegrees,  &kZeroStages,      &kKeyExchanges,       &kSearchedPrecisions,
    &kMlpTiles,      &kLossTiles,       &kCheckpointingKinds, &kOffloads};

/// The plan whose checkpointed layers are recomputed whole.
ParallelPlan with_whole_layers(ParallelPlan plan);
/// The same with nothing in host memory.
ParallelPlan plainest(ParallelPlan plan);

/// The values of a dimension that a search of the strategy's plan tries, ascending; the plan's own where it
/// is not searched.
std::vector<int> searched_values(const SearchDimension& dimension, const Scenario& scenario,
                                 const StrategySpec& spec);

/// The values of a dimension that some plans have, as people read them, ascending.
std::vector<std::string> values_of(const SearchDimension& dimension, std::span<const ParallelPlan> plans);

/// The plans that have a value of every dimension, in place of those of `plan`, and that model and cluster
/// allow.
std::vector<ParallelPlan> plans_of_space(const Scenario& scenario, const StrategySpec& spec,
                                         const ParallelPlan& plan);
/// Why model and cluster allow none of these plans, by the first one; empty if they allow some.
std::string mistake_of_space(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& plan);

}  // namespace packsim
