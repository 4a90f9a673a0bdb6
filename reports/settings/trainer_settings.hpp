#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim {

/// A simulated run as the settings of a trainer say it: one plan for all packs. Of a run whose groups of
/// packs have different degrees it is the group with the longest packs, in which all others fit too.
struct TrainerJob {
  std::string model;
  int n_layers = 0;
  bool has_experts = false;
  int nodes = 1;
  int n_gpus = 1;
  int epochs = 1;
  std::int64_t capacity_tokens = 0;  ///< of a pack, which is a micro-batch
  /// Counts the micro-batches of a rank in an iteration. Where groups or iterations differ, it is as many as
  /// make the iteration's tokens of full packs, rounded up.
  int micro_batches_per_rank = 1;
  ParallelPlan plan;  ///< with the group's degrees, checkpointed layers and ZeRO stage
  /// What holds for every trainer: groups that were left out, iterations that differ.
  std::vector<std::string> remarks;
};

/// The job of a run that was simulated. nodes: of the cluster.
TrainerJob trainer_job(const RunManifest& manifest, const StrategyResult& run, const Transformer& model,
                       int nodes);

/// How one trainer is told: a row of the table.
struct TrainerFormat {
  std::string_view name;  ///< as users know it
  std::string_view file;
  std::string (*settings)(const TrainerJob& job);
  /// What its settings cannot say, in sentences; empty if they say everything.
  std::vector<std::string> (*unsaid)(const TrainerJob& job);
};
std::span<const TrainerFormat> trainer_formats();

/// What stands beside the files: which file is whose, and what they cannot say.
std::string settings_readme(const TrainerJob& job);

}  // namespace packsim
