#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim {

/// A simulated run as a trainer is told it.
struct TrainerJob {
  Transformer model;
  int nodes = 1;
  int epochs = 1;
  std::string strategy;                       ///< Strategy::name
  ParallelPlan plan;                          ///< of the group with the longest packs
  std::int64_t capacity_tokens = 0;           ///< of its packs, each of which is a micro-batch
  std::optional<int> micro_batches_per_rank;  ///< in an iteration; none where iterations differ
  ParallelPlan run_plan;                      ///< of all groups, but for what each says itself
  std::vector<PlannedGroup> groups;           ///< one or more
  bool packs_itself = false;                  ///< whether the strategy is the trainer's own
};

/// The job of a run that was simulated. nodes: of the cluster. Throws std::invalid_argument where it has no
/// groups.
TrainerJob trainer_job(const RunManifest& manifest, const StrategyResult& run, const Transformer& model,
                       int nodes);

}  // namespace packsim
