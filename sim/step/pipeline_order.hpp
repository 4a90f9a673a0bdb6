#pragma once

#include <vector>

namespace packsim {

/// What a pipeline stage does next: a pass of one micro-batch through one of its chunks.
struct PipelinePass {
  int micro_batch = 0;
  int chunk = 0;  ///< of the stage's own, 0..virtual_stages - 1
  bool is_forward = true;
};

/// Everything that a stage does in a step, in order.
///
/// virtual_stages 1: 1F1B (Narayanan et al., arXiv 2006.09503): as many forward passes as there are stages
/// behind it, then one forward and one backward in turn. More: interleaved (arXiv 2104.04473, section 2.2),
/// in rounds of n_stages micro-batches a chunk. Throws std::invalid_argument for counts below 1, and for an
/// interleaved schedule whose micro-batches are no multiple of the stages, which does not exist.
std::vector<PipelinePass> pipeline_order(int n_stages, int stage, int virtual_stages, int n_micro_batches);

}  // namespace packsim
