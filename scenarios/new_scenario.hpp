#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/plan/trainer.hpp"

namespace packsim {

/// A job as a new user knows it. Names and paths are written as they are.
struct NewJob {
  std::string name;
  std::string model;
  std::string cluster;
  int nodes = 1;
  std::optional<int> gpus_per_node = {};  ///< that the job has, if not all
  std::optional<double> gpu_hour_price;
  std::string trainer = {};         ///< in which plans have to run; empty: in any
  const Trainer* limits = nullptr;  ///< that trainer's; null without one
  std::string profile;
  std::string parallelism;       ///< its keys, as TrainingStack has them
  bool is_of_slow_host = false;  ///< whether launches of the profile take longer than PyTorch's usually do
  std::int64_t tokens_per_iteration = 0;
  int epochs = 1;
  std::vector<std::string> lengths;  ///< sources
  std::int64_t longest_tokens = 0;   ///< the longest sample that is trained whole
  bool is_short = false;             ///< whether it has only the planner and the baseline
};

/// A scenario file of the job with a comment on every key: all strategies that keep samples whole and that
/// the trainer can run, unless it is short, each at the plan that packsim finds for it. Speed-ups are over
/// the trainer's own packing if it has one. There is no longer sample than `longest_tokens`.
std::string new_scenario(const NewJob& job);

/// The shortest power of two, from 8192 on, that holds a sample of this length.
std::int64_t longest_tokens_for(std::int64_t longest_sample_tokens);

}  // namespace packsim
