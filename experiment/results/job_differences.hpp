#pragma once

#include "experiment/results/report.hpp"

namespace packsim {

/// Fills in StrategyResult::differences: how the job that each run trains differs from the one that was asked
/// for. Runs with differences cost more or less for another reason than their packing, so reports never call
/// one of them the best.
///
/// Its iterations must have the size that is asked for (IterationSizes). Everything else must be as in the
/// baseline or, if the baseline trains nothing, as in the first run that does: the tokens that are trained at
/// least once, to 0.5 % of the data; the longest sample that is trained whole; the number of samples that are
/// cut into pieces; the rank of LoRA adapters; how the framework executes steps; whether tokens attend to
/// other samples; and whether gradients and weights travel while the GPUs compute, unless both runs chose
/// their ZeRO stage from the same ones.
///
/// report.runs: with all that simulate_plan() fills in. report.lengths and report.manifest: filled in.
void set_differences(Report& report);

/// The part of the data's tokens by which runs of the same job may differ.
inline constexpr double kDataTolerance = 0.005;

}  // namespace packsim
