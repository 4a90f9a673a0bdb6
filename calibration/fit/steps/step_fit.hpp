#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "models/framework_profile.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"
#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// One published row: what a step of `tokens_per_iteration` took with packs of one length.
struct StepRow {
  std::string table;
  std::int64_t pack_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;
  bool out_of_memory = false;
  double step_s = 0;  ///< 0 where the row is out of memory
};

struct StepFitProblem {
  Transformer model;
  Cluster cluster;
  HardwareProfile hardware;  ///< what kernels take
  ParallelPlan plan;         ///< what all rows have in common; sp_degree and gc_layers are the rows'
  std::int64_t tokens_per_iteration = 0;
  std::string single_document_table;  ///< the table whose packs are one document
  std::vector<StepRow> rows;

  ParallelPlan plan_of(const StepRow& row) const;
  std::int64_t micro_batches_of(const StepRow& row) const;  ///< of a rank, in a step
};

struct StepFit {
  FrameworkProfile profile;           ///< its numbers, covariance, left-out error and plan
  std::vector<FittedNumber> numbers;  ///< the time factors with their standard errors
  /// Each table of mixed packs has the length at which a pack of equal documents, the last one shorter, has
  /// the attention that the rows show, with whatever imbalance the timed iterations had. It is fitted beside
  /// the factors, and of no other use.
  std::map<std::string, double> effective_document_tokens;
  std::vector<double> predicted_s;                      ///< [n_rows], 0 where out of memory
  std::vector<double> left_out_s;                       ///< [n_rows], predicted by a fit without the row
  std::vector<std::optional<int>> predicted_gc_layers;  ///< [n_rows]; none: out of memory
  double mean_error = 0;                                ///< of |predicted / measured - 1|
  double max_error = 0;
  double left_out_mean_error = 0;
  double left_out_max_error = 0;
};

/// Fits the time factors to the rows' step times (log residuals, weak priors where the rows say little) with
/// one document length for each table of mixed packs, and the two memory numbers to the rows' checkpointed
/// layers. The covariance is marginal over the document lengths.
///
/// leaves_rows_out: false for no left-out errors, and a seventeenth of the work.
StepFit fit_steps(const StepFitProblem& problem, bool leaves_rows_out = true);

/// How the published rows' trainer, DeepSpeed on 32 GPUs, goes about a step; sp_degree and gc_layers are the
/// rows'.
///
/// ZeRO 1: with ZeRO 3 the published checkpointed layers cannot be explained. Gradients travel in fp32:
/// DeepSpeed's default where sequence parallelism is on (seq_parallel_communication_data_type,
/// runtime/config.py and engine.py), and with bf16 ones 26 GiB of memory would be nobody's, instead of 11.
/// It ignores overlap_comm in ZeRO 1 (runtime/engine.py). torch's checkpoint(), as the authors' framework
/// calls it (ModelTC/EasyLLM, llm/utils/general/dc_manager.py), is the reentrant one, as is DeepSpeed's.
ParallelPlan published_plan();

/// Reads the CSV of calibration/data. Throws std::runtime_error with path and line.
std::vector<StepRow> read_step_rows(const std::string& path);

}  // namespace packsim
