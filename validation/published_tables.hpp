#pragma once

#include <map>
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

/// One published number of a packing or a run.
struct PublishedRow {
  std::string name;
  std::string scenario;  ///< a shipped one; empty: none reproduces the number
  std::string strategy;  ///< one of its strategies
  double value = 0;      ///< in the unit of its table
  // What else is published of the same run.
  std::optional<double> abr;
  std::optional<double> cr;
  std::optional<double> dbr;
  std::optional<double> pr;
  std::optional<double> model_s;  ///< time of an iteration without the wait for its plan
  /// Ranks among which the packs of an iteration are divided, one for each. 0: as the strategy schedules
  /// them.
  int n_ranks = 0;
  std::string note;
};

/// The HBP paper's tables (validation/hbp.json).
struct PublishedTables {
  Transformer model;
  Cluster cluster;
  ParallelPlan plan;                         ///< of all steps, except for SP degrees and checkpointed layers
  std::map<std::string, double> tolerances;  ///< by set and name: "flexsp/abr"
  std::vector<PublishedTableStep> steps;
  // GPU-days.
  std::vector<PublishedRow> ablation;
  std::vector<PublishedRow> group_selection;
  std::vector<PublishedRow> strategies;
  std::vector<PublishedRow> batching;  ///< these have no tolerance
  std::vector<PublishedRow> flexsp;    ///< FlexSP and the runs that it is compared with
  std::vector<PublishedRow> longalign;
  std::vector<PublishedRow> ratios;    ///< GPU-days of isf over those of hbp
  std::vector<PublishedRow> planning;  ///< mean seconds that GPUs wait for the plan of an iteration
  std::vector<PublishedRow> abr_by_length;
  std::vector<PublishedRow> abr_by_data_set;
  std::vector<PublishedRow> overhead;  ///< minutes

  /// The largest error of a set of numbers, in the error's unit. Throws std::invalid_argument if the file
  /// does not have it.
  double tolerance(const std::string& name) const;
};

/// Throws ScenarioError with every mistake in the file, and FileError if it cannot be read.
PublishedTables load_published_tables(const std::string& path, const DataPaths& data);

}  // namespace packsim
