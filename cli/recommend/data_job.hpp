#pragma once

#include <string>
#include <vector>

#include "cli/shared/command_context.hpp"
#include "cli/shared/job_options.hpp"
#include "recommend/question.hpp"

namespace packsim {

/// How data become a scenario.
struct DataOptions {
  std::string model;  ///< empty: not said
  std::string
      tokenizer;       ///< a tokenizer.json; empty: the data have token ids or lengths, or the model has one
  std::string column;  ///< empty: the usual one
  JobOptions job;      ///< lengths, cluster and nodes are set here
};

/// Whether the argument of a command names data, not a scenario: a folder, or a file of lengths or samples by
/// its extension. A .json file may be both, and is data where a model is said. Standard input is a scenario.
bool is_data(const std::string& path, const DataOptions& options);

/// Throws std::invalid_argument where a question about data says no model or no GPUs.
void require_model_and_gpus(const DataOptions& options, const std::vector<ClusterOffer>& offers);

/// The names of the files that write_job_of_data() writes.
std::vector<std::string> job_names(const std::string& path, const DataOptions& options);

/// Writes a scenario of the data to `folder`/job.json, with the planner and what the trainer does by itself,
/// on the smallest cluster of the offers. Data that are no file of lengths are measured by the Python
/// package, to `folder`/lengths.npy. Returns the scenario's path. Throws ExitCode where measuring fails.
std::string write_job_of_data(const std::string& path, DataOptions options,
                              const std::vector<ClusterOffer>& offers, const std::string& folder,
                              const CommandContext& context);

}  // namespace packsim
