#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/execution_style.hpp"
#include "models/plan/trainer.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/new_scenario.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace packsim {

inline constexpr std::string_view kAnyTrainer = "any";

/// A job as the options of a command say it. Paths hold from the current folder.
struct JobOptions {
  std::string model = "llama3.1-8b";
  std::vector<std::string> lengths;  ///< files
  std::string cluster = "h100-sxm-80gb";
  int nodes = 1;
  std::optional<int> gpus_per_node = {};  ///< that the job has, if not all
  std::string trainer = std::string(kAnyTrainer);
  std::string stack;                      ///< empty: the trainer's
  std::string profile;                    ///< empty: the stack's
  std::int64_t tokens_per_iteration = 0;  ///< 0: not said
  int epochs = 1;
  double price = 0;  ///< 0: none
};

/// The stacks that --stack knows, one a line.
std::string stack_list();

/// Adds --trainer, --stack, --profile, --tokens-per-iteration and --epochs. `job` must live as long as the
/// command.
void add_job_options(CLI::App& command, JobOptions& job);

/// What the files of a job say.
struct JobFiles {
  Trainer trainer;
  ExecutionStyle execution;
  std::string parallelism;  ///< of the stack
  std::int64_t longest_tokens = 0;
};

/// Reads the job's files, and sets what its options leave open: profile and tokens_per_iteration (16K for
/// each GPU, and at least the longest sample). Throws what the readers throw where a file has mistakes.
JobFiles read_job_files(JobOptions& job, const DataPaths& data);

/// The job for new_scenario(), to be written to `out`: relative paths are changed to hold from its folder.
/// files: kept by reference.
NewJob new_job(const JobOptions& job, const JobFiles& files, const std::string& out);

}  // namespace packsim
