#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace packsim {

/// What a GPU's maker states. Each GPU is a JSON file in models/gpus, with the source of its numbers.
struct Gpu {
  std::string name = {};
  std::string source = {};
  /// The name that the GPU's driver reports. Measurements and profiles name the GPU in the same way.
  std::string driver_name = {};

  /// The hardware profile for jobs that name none; empty: the one that their framework profile is on.
  std::string hardware = {};

  /// Peak rates of matrix products by number format ("bf16", "fp8"), without sparsity and accumulated in
  /// fp32. Empty if not stated.
  std::map<std::string, double, std::less<>> peak_flop_per_s = {};
  /// The share of the peak that products reach if each warp issues its own (mma.sync), as kernels written for
  /// older GPUs do. 1 unless the GPU has wider instructions.
  double warp_product_share = 1;

  std::int64_t memory_bytes = 0;                  ///< of the GPU's own memory, as the driver reports it
  std::optional<double> memory_bytes_per_s = {};  ///< bandwidth of that memory
  std::optional<double> l2_bytes = {};            ///< second-level cache
  std::optional<int> n_sms = {};                  ///< streaming multiprocessors, or compute units
  std::optional<double> sm_clock_hz = {};         ///< the highest clock of the multiprocessors
  std::optional<double> nvlink_bytes_per_s = {};  ///< one way, all links to other GPUs; 0 if it has none
  /// Whether the switches of NVLink add up what passes them, so that an all-reduce sends less (NVLS).
  bool nvlink_switch_adds = false;
  std::optional<double> pcie_bytes_per_s = {};  ///< one way
  std::optional<double> power_w = {};           ///< the most that the board draws

  /// Peak rate of products of a number format; none if not stated.
  std::optional<double> peak(std::string_view format) const {
    const auto at = peak_flop_per_s.find(format);
    return at == peak_flop_per_s.end() ? std::nullopt : std::optional(at->second);
  }
};

}  // namespace packsim
