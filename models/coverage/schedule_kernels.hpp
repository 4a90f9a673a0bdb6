#pragma once

#include <span>
#include <vector>

#include "models/coverage/kernel_uses.hpp"
#include "models/step/step_pricer.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/pack_use_counts.hpp"

namespace packsim {

/// How many kernels represent the thousands of different ones of a run.
struct ScheduleSampling {
  int attention_packs = 32;  ///< packs of a group whose attention represents all of its packs
  /// Token counts per GPU are rounded to so many values for each factor of two.
  int token_steps_per_octave = 8;
};

/// The kernels of a whole run on the mean GPU: those that its pricers ask the hardware profile for. A use's
/// part is the name of its cause; launch gaps are a part of their own and count all other kernels.
///
/// Packs of a group are too many and too different to list. Two rules keep the list short and the work exact:
///  - All kernels but attention: micro-batches with about the same number of tokens are counted at a number
///    that the pricer prices exactly. Counts are scaled so that the tokens add up to those of the run.
///  - Attention: the packs of a group are sorted by their squared lengths, each listed as often as it is
///    trained, and cut into `attention_packs` parts of equal length. The pack in the middle of a part
///    represents it; its count is scaled so that the squared lengths add up to those of the part. Attention
///    kernels have no window and are of whole documents: under a window or in a ring they count by the share
///    of the work that a GPU has.
/// Where tensor-parallel communication overlaps, products are listed whole.
///
/// pricers: [n_groups] that keep_kernels(), of the groups of packing, batches [n_groups][n_packs] and counts,
/// which belong together; padding is computed as the batches have it.
std::vector<KernelUse> schedule_kernels(std::span<StepPricer* const> pricers, const Packing& packing,
                                        std::span<const std::vector<MicroBatch>> batches,
                                        const PackUseCounts& counts, const ScheduleSampling& sampling = {});

/// The documents of a pack as attention sees them. Where the strategy puts samples beside each other, these
/// are the padded rows; otherwise they are the samples, and the padding as one more document. If tokens
/// attend across samples, the whole pack is one document.
Documents pack_documents(const Packing& packing, std::size_t group, std::size_t pack,
                         const MicroBatch& batch);

}  // namespace packsim
