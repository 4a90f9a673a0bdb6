#pragma once

#include <cstdint>

#include "experiment/results/planned_group.hpp"
#include "models/memory/peak_memory.hpp"
#include "models/parallel_plan.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Memory that the scenario's framework profile adds to states and activations.
MemoryAssumptions memory_assumptions(const Scenario& scenario);

/// Number of GPUs to which packs are assigned. The GPUs of a tensor-parallel group and of all its pipeline
/// stages count as one.
int packed_gpus(const ParallelPlan& plan);

/// Checkpointed layers and memory of one group. pack_tokens: those of its largest pack, padding included.
/// n_micro_batches: those of a DP rank in one iteration. base: the base_plan() of its strategy.
PlannedGroup plan_group(const Scenario& scenario, const ParallelPlan& base, const GroupSpec& group,
                        std::int64_t pack_tokens, int n_micro_batches);

/// Micro-batches of a DP rank in an iteration of full packs: those that the strategy has or, if it has none,
/// as many as fit. Throws std::invalid_argument if these are more than a rank may have.
int full_micro_batches(const Scenario& scenario, const StrategySpec& spec, const GroupSpec& group);

/// The group with full packs, before anything is packed: DP ranks, micro-batches of a rank, checkpointed
/// layers and memory. Throws what full_micro_batches() throws.
PlannedGroup plan_full_group(const Scenario& scenario, const StrategySpec& spec, const GroupSpec& group);

}  // namespace packsim
