#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/flexsp/global_batch.hpp"

namespace packsim::flexsp {

/// Reduces the GPU time of a micro-batch without making it slower. This is not part of FlexSP.
///
/// FlexSP minimises only the time of the slowest group. If one long sequence decides that time, the other
/// groups may have any degree, and it is left to chance which degrees the solver returns and how much these
/// groups exchange for nothing. This function splits groups into smaller ones and moves sequences to where
/// they cost less GPU time, as long as no group exceeds its capacity or takes longer than the slowest group
/// does now.
///
/// lengths_tokens: of all items. groups: of one micro-batch; first_gpu is neither read nor set. The groups
/// have at most as many GPUs afterwards as before. Deterministic.
void minimize_gpu_time(std::span<const std::int32_t> lengths_tokens, const Cluster& cluster,
                       std::vector<PlacedGroup>& groups);

}  // namespace packsim::flexsp
