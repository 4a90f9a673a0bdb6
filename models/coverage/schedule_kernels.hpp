#pragma once

#include <span>
#include <vector>

#include "models/cluster.hpp"
#include "models/coverage/kernel_uses.hpp"
#include "models/transformer.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

/// How many kernels represent the thousands of different ones of a run.
struct ScheduleSampling {
  int attention_packs = 32;  ///< packs of a group whose attention represents all of its packs
  /// Token counts per GPU are rounded to so many values for each factor of two.
  int token_steps_per_octave = 8;
};

/// The kernels of a whole run on the mean GPU, by step_kernels()'s rules.
///
/// Packs of a group are too many and too different to list. Two rules keep the list short and the work exact:
///  - Linear and elementwise kernels: micro-batches with about the same number of tokens are counted at their
///    rounded mean. Counts are scaled so that the tokens add up to those of the run.
///  - Attention: the packs of a group are sorted by their squared lengths, each listed as often as it is
///    trained, and cut into `attention_packs` parts of equal length. The pack in the middle of a part
///    represents it; its count is scaled so that the squared lengths add up to those of the part.
///
/// packing, batches [n_groups][n_packs] and schedule belong together; padding is computed as the schedule has
/// it. Throws std::invalid_argument where the model cannot run under a group's SP degree.
std::vector<KernelUse> schedule_kernels(const Transformer& model, const Cluster& cluster, int zero_stage,
                                        const Packing& packing,
                                        std::span<const std::vector<MicroBatch>> batches,
                                        const Schedule& schedule, const ScheduleSampling& sampling = {});

/// The documents of a pack as attention sees them. Where the strategy puts samples beside each other, these
/// are the padded rows; otherwise they are the samples, and the padding as one more document. If tokens
/// attend across samples, the whole pack is one document.
Documents pack_documents(const Packing& packing, std::size_t group, std::size_t pack,
                         const MicroBatch& batch);

}  // namespace packsim
