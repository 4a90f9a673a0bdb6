#pragma once

#include "models/cluster.hpp"
#include "models/kernels/hardware_profile.hpp"

namespace packsim {

/// What the transfer of kernels between GPUs rests on beside data sheets. The numbers are fitted to, and the
/// errors found by leaving GPUs out of, the published rows of calibration/data (docs/accuracy/transfer.md).
struct TransferNumbers {
  /// GPUs with a higher peak reach a smaller share of it: times go with the peak to this power.
  double compute_exponent = 0.93;
  /// The share of its memory's rate that an elementwise kernel reaches which does little else.
  double memory_share = 0.9;
  // Relative errors, one standard deviation, that a transfer adds: of the work of kernels, and of what does
  // not depend on their size.
  double product_error = 0.12;
  double attention_error = 0.2;
  double memory_error = 0.2;
  double link_error = 0.25;
  double latency_error = 0.5;
  /// Replaces link_error between GPUs with NVLink and GPUs without. It is assumed, as no row shows it.
  double other_link_error = 0.8;
  /// Replaces the errors of work between GPUs of two makers, whose libraries reach other shares of the peak.
  double other_maker_error = 0.5;
  // Replace the errors of work between GPUs of one chip, which differ in memory and links alone: those of
  // calibration/measured between H100 and H200.
  double same_chip_product_error = 0.04;
  double same_chip_attention_error = 0.08;
  double same_chip_memory_error = 0.08;
};

/// The profile of another cluster's GPUs and links, from one that was measured on `measured` GPUs.
///
/// Each time is a fixed part, which does not change, and work, which takes as much longer as
/// - matrix products and attention: what the GPU needs for the flop at its peak rate (to the power of
///   compute_exponent), and products for the bytes at its memory rate;
/// - elementwise kernels: the bytes at its memory rate, and for the rest of their time, what its
///   multiprocessors need at their clock; the time is the square root of the sum of their squares;
/// - copies and the optimizer: the bytes at its memory rate; copies to and from the host: at the rate of the
///   host's link;
/// - collectives: the bytes that cross NVLink and network cards, at their rates, as the usual algorithm of
///   the collective sends them.
/// Times rise with size as before. Curves and models that change are marked as transferred, and their errors
/// grow. If GPU and links are the same, nothing changes. A rate that is not known of one of the two counts as
/// equal.
HardwareProfile transfer_profile(const HardwareProfile& profile, const Gpu& measured, const Cluster& cluster,
                                 const TransferNumbers& numbers = {});

/// The same from the GPU of the profile's data sheet, with the kernels of its stand-in where it has none.
/// Throws std::invalid_argument if the cluster has another GPU and the profile no data sheet, and
/// std::logic_error if the profile is on a cluster already.
HardwareProfile profile_on(const HardwareProfile& profile, const Cluster& cluster);

/// What a factor that makes the attention of a hardware profile that of FlashAttention-2 has to be multiplied
/// by on another GPU, where the warps of such kernels reach another share of the peak
/// (Gpu::warp_product_share). 1 where the profile's own attention is of such kernels, which are scaled with
/// it.
double flash_attention_2_change(const HardwareProfile& hardware, const Gpu& gpu);

/// The least seconds that a kernel can take on a GPU: its flop at the peak rate of products, and the bytes of
/// kernels that are called cold, beside what the L2 cache may hold of them, at the memory rate. 0 where the
/// GPU's file does not say, and for collectives.
double least_kernel_s(const Gpu& gpu, const KernelCase& kernel);

/// The profile, with those kernel families of `other` that it does not have.
HardwareProfile with_missing_families(const HardwareProfile& profile, const HardwareProfile& other);

}  // namespace packsim
