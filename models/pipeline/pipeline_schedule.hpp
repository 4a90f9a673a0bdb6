#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace packsim {

/// One pass of a micro-batch through one of a pipeline stage's chunks of layers.
struct PipelinePass {
  int micro_batch = 0;
  int chunk = 0;  ///< Index among the stage's own chunks.
  bool is_forward = true;
};

/// The size of a pipeline and of one optimizer step through it.
struct PipelineShape {
  int n_stages = 1;
  int chunks_per_stage = 1;
  int n_micro_batches = 0;
};

/// A rule by which the stages of a pipeline order the forward and backward passes of a step: one row of the
/// table and one file, NAME.cpp in this folder.
///
/// Passes of one chunk and direction follow each other in the order of their micro-batches: the last one is
/// the one beside which gradients are exchanged.
struct PipelineSchedule {
  std::string_view name;  ///< Its name in a scenario.
  std::string_view summary;
  std::string_view source;
  int fewest_chunks = 1;  ///< Chunks of layers that a stage may hold.
  int most_chunks = 1;
  /// The schedule exists only for a multiple of n_stages micro-batches.
  bool needs_full_rounds = false;
  /// All passes of a stage, in the order in which it runs them. The shape is one that the schedule allows.
  std::vector<PipelinePass> (*order)(const PipelineShape& shape, int stage) = nullptr;
  /// The most micro-batches of which the stage holds activations at a time, each counted once for every chunk
  /// of the stage whose backward pass is still to come.
  int (*chunks_in_flight)(const PipelineShape& shape, int stage) = nullptr;
};

/// The table, in the order in which a scenario's mistakes list the names.
std::span<const PipelineSchedule* const> pipeline_schedules();

/// The schedule of plans that name none: 1F1B where a stage holds one chunk, interleaved 1F1B where it holds
/// more.
const PipelineSchedule& usual_schedule(int chunks_per_stage);

/// All passes of a stage, in the order in which it runs them. Throws std::invalid_argument for a stage that
/// the pipeline does not have, and for a shape that the schedule does not allow.
std::vector<PipelinePass> pipeline_order(const PipelineSchedule& schedule, const PipelineShape& shape,
                                         int stage);

}  // namespace packsim
