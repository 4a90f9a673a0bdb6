#pragma once

#include <cstdint>
#include <string>

#include "models/plan/plan_key.hpp"

namespace packsim {

/// The plan in words: all that is not at its default, "TP 8; PP 4; 2 virtual stages each; ZeRO 1; gradients
/// in fp32; computation waits for gradients and weights".
std::string plan_text(const ParallelPlan& plan);

/// The degrees that are not 1, and the number of checkpointed layers: "SP 8, CP 4, GC 12"; "SP 1" where
/// none is.
std::string degrees_text(const ParallelPlan& plan);

/// What the search for a plan has chosen for all groups: "TP 2, ZeRO 3, shards over 8 GPUs".
std::string searched_plan_text(const ParallelPlan& plan);

/// A group of packs of up to so many tokens: "174752 tokens, SP 8, CP 4, GC 12".
std::string group_text(std::int64_t capacity_tokens, const ParallelPlan& plan);

}  // namespace packsim
