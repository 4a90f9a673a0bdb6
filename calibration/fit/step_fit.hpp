#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "models/framework_profile.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// One published row: what a step of `tokens_per_iteration` took with packs of one length.
struct StepRow {
  std::string table;
  std::int64_t pack_tokens = 0;
  int sp_degree = 1;
  int gc_layers = 0;
  bool out_of_memory = false;
  double step_s = 0;  ///< 0 where the row is out of memory
};

struct StepFitProblem {
  Transformer model;
  Cluster cluster;
  int zero_stage = 1;
  std::int64_t tokens_per_iteration = 0;
  std::vector<StepRow> rows;
};

struct StepFit {
  FrameworkProfile profile;
  /// Tables whose packs hold many documents: the document length whose attention the rows show (sum of
  /// squares over sum, and whatever imbalance the timed iterations had). Fitted beside the rates, and of no
  /// other use.
  std::map<std::string, double> effective_document_tokens;
  std::vector<double> predicted_s;       ///< [n_rows], 0 where out of memory
  std::vector<double> left_out_s;        ///< [n_rows], predicted by a fit without the row
  std::vector<int> predicted_gc_layers;  ///< [n_rows], -1 for out of memory
  double mean_error = 0;                 ///< of |predicted / measured - 1|
  double max_error = 0;
  double left_out_mean_error = 0;
  double left_out_max_error = 0;
};

/// Fits the six rates and fixed costs of the step-level model (log residuals, weak priors where the rows say
/// little) with one document length for each table of mixed packs, and the two memory numbers to the rows'
/// checkpointed layers. single_document_table: the table whose packs are one document.
StepFit fit_steps(const StepFitProblem& problem, const std::string& single_document_table);

/// Reads the CSV of calibration/data. Throws std::runtime_error with path and line.
std::vector<StepRow> read_step_rows(const std::string& path);

}  // namespace packsim
