#pragma once

#include "experiment/results/report.hpp"

namespace packsim {

/// Fills in StrategyResult::differences: how the job that each run trains differs from the one that was asked
/// for. Runs with differences cost more or less for another reason than their packing, so reports never call
/// one of them the best.
///
/// A run must train as many tokens in an iteration as the scenario says, to 10 %; or, in a job of few
/// iterations, have no more than one iteration of another size for each epoch, or for each group and epoch if
/// each iteration consists of packs of one group. Everything else must be as in the baseline or, if the
/// baseline trains nothing, as in the first run that does: the tokens that are trained at least once, to 0.5
/// % of the data; the longest sample that is trained whole; the number of samples that are cut into pieces;
/// and whether gradients and weights travel while the GPUs compute.
///
/// report.runs: with all that simulate_plan() fills in. report.lengths and report.manifest: filled in.
void set_differences(Report& report);

/// Whether the run's iterations are of the size that the scenario asks for, to that tolerance. False if it
/// has none.
bool has_asked_iterations(const RunManifest& manifest, const StrategyResult& run);

}  // namespace packsim
