#pragma once

#include <cstdint>

#include "experiment/results/report.hpp"

namespace packsim {

/// Fills in StrategyResult::differences: how the job that each run trains differs from the one that was asked
/// for. Runs with differences cost more or less for another reason than their packing, so reports never call
/// one of them the best.
///
/// A run must train as many tokens in an iteration as the scenario says, on average and to 10 %, not counting
/// by how much the longest sample of an iteration exceeds that; or, in a job of few iterations, have no more
/// than one smaller iteration for each epoch, or for each group and epoch if each iteration consists of packs
/// of one group. No iteration may train more than twice as many, or than twice the longest sample if that is
/// longer. To fill last iterations, no more than 1 % of the tokens may be repeated. Everything else must be
/// as in the baseline or, if the baseline trains nothing, as in the first run that does: the tokens that are
/// trained at least once, to 0.5 % of the data; the longest sample that is trained whole; the number of
/// samples that are cut into pieces; the rank of LoRA adapters; how the framework executes steps; whether
/// tokens attend to other samples; and whether gradients and weights travel while the GPUs compute, unless
/// both runs chose their ZeRO stage from the same ones.
///
/// report.runs: with all that simulate_plan() fills in. report.lengths and report.manifest: filled in.
void set_differences(Report& report);

/// How much larger or smaller the mean iteration may be than what is asked for.
inline constexpr double kIterationTolerance = 0.1;
/// The most that one iteration may train, over what is asked for or over the longest sample if that is
/// longer. In the shipped scenarios, the largest iteration of any strategy that has the asked mean trains at
/// most 1.5 times as much.
inline constexpr std::int64_t kMostOfOneIteration = 2;

/// The numbers that decide whether iterations have the size that is asked for.
struct IterationSizes {
  std::int64_t tokens_per_iteration = 0;  ///< asked for
  int epochs = 1;
  std::int64_t trained_tokens = 0;  ///< with repeated tokens
  std::int64_t repeated_tokens = 0;
  std::int64_t excess_tokens = 0;   ///< excess_tokens() of the schedule
  std::int64_t largest_tokens = 0;  ///< of one iteration
  std::int64_t iterations = 0;
  std::int64_t longest_tokens = 0;
  std::int64_t n_own_groups = 0;  ///< groups whose packs have iterations of their own
};
bool has_asked_iterations(const IterationSizes& sizes);

/// Whether the run's iterations are of the size that the scenario asks for, on average and each, and repeat
/// no more than they may. False if it has none.
bool has_asked_iterations(const RunManifest& manifest, const StrategyResult& run);

}  // namespace packsim
