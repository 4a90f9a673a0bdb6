#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"
#include "packing/sequence_parallelism.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// One timed or out-of-memory step of the HBP paper.
struct PublishedTableStep {
  std::string name;
  std::string data;  ///< full_length if packs are one document each, else the name of a mixture
  std::int64_t capacity_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;
  int micro_batches = 1;  ///< of each rank in the step
  bool out_of_memory = false;
  std::optional<double> step_time_s;
};

/// GPU-days of a whole run, and its ratios if published.
struct PublishedRun {
  std::string name;
  std::string scenario;  ///< a shipped one
  std::string strategy;  ///< one of its strategies
  double gpu_days = 0;
  std::optional<double> abr;
  std::optional<double> cr;
  std::optional<double> dbr;
  std::optional<double> pr;
  std::string note;
};

/// The ABR of a packing.
struct PublishedAbr {
  std::string name;
  std::string scenario;  ///< a shipped one; empty: its data are not shipped
  std::string strategy;
  /// Ranks among which the packs of an iteration are divided, one for each. 0: as the strategy schedules
  /// them.
  int n_ranks = 0;
  double abr = 0;
  std::string note;
};

/// How long something takes.
struct PublishedDuration {
  std::string name;
  std::string scenario;  ///< of the run that takes as long; empty: none does
  std::string strategy;
  double minutes = 0;
  std::string note;
};

/// GPU-days of one strategy over those of another.
struct PublishedRatio {
  std::string name;
  std::string scenario;
  std::string over;   ///< the strategy in the numerator
  std::string under;  ///< the strategy in the denominator
  double ratio = 0;
  std::string note;
};

/// Mean time for which the GPUs of a run wait for the plan of an iteration, and the time of the iteration
/// without this wait.
struct PublishedWait {
  std::string name;
  std::string scenario;
  std::string strategy;
  double exposed_s = 0;
  double model_s = 0;
};

/// The largest error that each set of numbers may have.
struct PublishedTolerances {
  double step_mean = 0;
  double step_max = 0;
  double step_left_out_mean = 0;
  int gc_layers = 0;
  double ablation = 0;
  double group_selection = 0;
  double strategies = 0;
  double ratio = 0;
  double flexsp_gpu_days = 0;
  // The two of FlexSP's ratios are absolute differences.
  double flexsp_abr = 0;
  double flexsp_cr = 0;
  double planning = 0;
  // Absolute differences.
  double abr_by_length = 0;
  double abr_by_data_set = 0;
  double rank_correlation = 0;
  double longalign = 0;
  double overhead = 0;
};

/// The HBP paper's tables (validation/hbp.json).
struct PublishedTables {
  Transformer model;
  Cluster cluster;
  ParallelPlan plan;  ///< of all steps, except for SP degrees and checkpointed layers
  PublishedTolerances tolerances;
  std::vector<PublishedTableStep> steps;
  std::vector<PublishedRun> ablation;
  std::vector<PublishedRun> group_selection;
  std::vector<PublishedRun> strategies;
  std::vector<PublishedRun> batching;  ///< these have no tolerance
  std::vector<PublishedRatio> ratios;
  std::vector<PublishedRun> flexsp;  ///< FlexSP and the runs that it is compared with
  std::vector<PublishedWait> planning;
  std::vector<PublishedAbr> abr_by_length;
  std::vector<PublishedAbr> abr_by_data_set;
  std::vector<PublishedRun> longalign;
  std::vector<PublishedDuration> overhead;
};

/// Throws ScenarioError with every mistake in the file, and FileError if it cannot be read.
PublishedTables load_published_tables(const std::string& path, const DataPaths& data);

}  // namespace packsim
