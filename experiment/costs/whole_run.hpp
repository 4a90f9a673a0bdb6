#pragma once

#include <cstdint>
#include <optional>

#include "experiment/results/strategy_result.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The steps of a run with what it takes beside them; none if the scenario says nothing of that.
/// forward_gpu_s_per_token: GPU time of the forward passes of its packs over their tokens, which prices the
/// tokens of an evaluation.
std::optional<WholeRun> whole_run(const Scenario& scenario, const RunTimes& times, std::int64_t n_iterations,
                                  double forward_gpu_s_per_token);

}  // namespace packsim
