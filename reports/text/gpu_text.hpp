#pragma once

#include <string>

#include "packing/sequence_parallelism.hpp"
#include "sim/run/trace_step.hpp"

namespace packsim::formats_detail {

/// How many GPUs share a sequence by Ulysses and by ring attention, as a cell under "SP": "8", "2 x CP 4".
std::string sequence_text(const SequenceParallelism& sequence);

/// "rank 3", or of a pipeline "rank 3, stage 1".
std::string rank_text(const TracedLane& lane, bool has_stages);
/// "GPU 7", or "GPUs 8 to 15".
std::string gpus_text(const TracedLane& lane);

}  // namespace packsim::formats_detail
