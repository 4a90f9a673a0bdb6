#pragma once

#include "models/cluster.hpp"

namespace packsim {

// Rates at which kernels without a measurement are priced. Every GPU is assumed to reach the same share of
// its maker's stated rates as an H100 SXM. If a cluster does not state the rates of its GPU, those of an H100
// are used.

/// NVIDIA's H100 data sheet: dense bf16 products and memory bandwidth of the SXM version.
inline constexpr double kH100PeakFlopPerS = 989.4e12;
inline constexpr double kH100MemoryBytesPerS = 3.35e12;
/// Rates that kernels of an H100 reach.
inline constexpr double kH100GemmFlopPerS = 500e12;
inline constexpr double kH100AttentionFlopPerS = 400e12;
inline constexpr double kH100ReachedBytesPerS = 2.5e12;

inline double reached_gemm_flop_per_s(const Cluster& cluster) {
  return kH100GemmFlopPerS * (cluster.gpu.peak("bf16").value_or(kH100PeakFlopPerS) / kH100PeakFlopPerS);
}

inline double reached_attention_flop_per_s(const Cluster& cluster) {
  return kH100AttentionFlopPerS * (cluster.gpu.peak("bf16").value_or(kH100PeakFlopPerS) / kH100PeakFlopPerS);
}

inline double reached_memory_bytes_per_s(const Cluster& cluster) {
  return kH100ReachedBytesPerS *
         (cluster.gpu.memory_bytes_per_s.value_or(kH100MemoryBytesPerS) / kH100MemoryBytesPerS);
}

}  // namespace packsim
