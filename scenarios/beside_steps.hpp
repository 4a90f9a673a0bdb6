#pragma once

#include <cstdint>
#include <optional>

namespace packsim {

/// What a run takes beside its steps and failures. What a scenario does not say takes no time.
struct BesideSteps {
  /// All GPUs evaluate after every so many iterations.
  struct Evaluation {
    std::int64_t every_iterations = 1;
    std::optional<double> duration_s = {};  ///< of one evaluation; none: `tokens` are priced
    double tokens = 0;                      ///< of one evaluation
  };
  /// The run stands still after every so many iterations.
  struct Checkpoints {
    std::int64_t every_iterations = 1;
    double blocking_s = 0;  ///< of one checkpoint
  };

  double startup_s = 0;      ///< from when the GPUs are paid for until the first iteration
  double first_steps_s = 0;  ///< what the first iterations take beyond the others
  double data_wait_s = 0;    ///< what each iteration waits for its data
  std::optional<Evaluation> evaluation = {};
  std::optional<Checkpoints> checkpoints = {};
  double finish_s = 0;  ///< from the last iteration until the GPUs are free
};

}  // namespace packsim
