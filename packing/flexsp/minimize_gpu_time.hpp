#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/flexsp/global_batch.hpp"

namespace packsim::flexsp {

/// Ours. FlexSP's objective is the slowest group of a micro-batch alone. Where one long sequence decides it,
/// the other groups may be of any degree: which, and how much they exchange for nothing, is left to the
/// solver's luck. This splits groups into smaller ones and moves sequences to where they cost less GPU time,
/// as long as no group takes longer than the slowest does now and all hold what they get.
///
/// lengths_tokens: of items. groups: of one micro-batch; first_gpu is not looked at and not set. Their GPUs
/// are afterwards at most as many. Deterministic.
void minimize_gpu_time(std::span<const std::int32_t> lengths_tokens, const Cluster& cluster,
                       std::vector<PlacedGroup>& groups);

/// GPU-seconds of the groups: degree times seconds. Without the waits for the slowest.
double gpu_time_s(std::span<const std::int32_t> lengths_tokens, const Cluster& cluster,
                  std::span<const PlacedGroup> groups);

}  // namespace packsim::flexsp
