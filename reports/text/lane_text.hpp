#pragma once

#include <string>

#include "sim/run/trace_step.hpp"

/// The GPUs of a traced step as people read them.
namespace packsim::formats_detail {

/// "rank 3", or of a pipeline "rank 3, stage 1".
std::string rank_text(const TracedLane& lane, bool has_stages);
/// "GPU 7", or "GPUs 8 to 15".
std::string gpus_text(const TracedLane& lane);

}  // namespace packsim::formats_detail
