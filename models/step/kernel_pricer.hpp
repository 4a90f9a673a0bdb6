#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster.hpp"
#include "models/kernels/gemm_shapes.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/layers/layer_op.hpp"
#include "models/step/price_account.hpp"

namespace packsim {

CurveName curve_name(const KernelCase& kernel);

/// What a kernel takes, and what would have to be measured to know it better.
struct PricedKernel : KernelTime {
  CurveName curve = {};
  double kernel_s = 0;  ///< if the cluster's links were as fast as need be; else time_s

  /// So many of them in a framework that takes `factor` times as long for the kernel; links take what they
  /// take.
  TimeEstimate estimate(double count = 1, double factor = 1) const {
    const double links_s = time_s > kernel_s ? time_s : 0;
    const double known_s = count * std::max(factor * kernel_s, links_s);
    return {known_s, known_s * relative_error, evidence};
  }
};

/// What kernels take on a cluster: what its hardware profile says, and a price by one of these rules where
/// that has nothing. Such a price keeps the evidence `missing`, so that a report can say what share of time
/// rests on it.
///
///   elementwise backward  the forward kernel of the same op, times the bytes that either moves
///   memory-bound          bytes over the rate of the profile's copies, or the fastest of its elementwise
///                         kernels
///   matrix products       half of the GPU's peak as the cluster states it (else an H100's), or their bytes
///   host copies           three quarters of the cluster's host link
///   all-gather, reduce-scatter between nodes: half an all-reduce, which is one after the other
///   all-to-all between nodes: the larger of its part inside the node and of its part on the GPU's network
///                         cards, at the rate of the profile's send_recv between nodes
///   other collectives     the bytes that a GPU sends, at three quarters of the cluster's stated rate
///
/// A collective that comes out faster than the cluster's NVLink, network cards or leaf uplinks can be at
/// their stated rates takes what they need at three quarters of these, which is such a price too.
class KernelPricer {
 public:
  /// Both are kept by reference.
  KernelPricer(const HardwareProfile& profile, const Cluster& cluster);

  /// The time is over 0 for every kernel but a launch gap that the profile does not have. A price by a rule
  /// has the rule's relative error as well.
  const PricedKernel& time(const KernelCase& kernel);

  /// A kernel of an op, and how often it runs.
  struct Use {
    const PricedKernel* kernel = nullptr;
    double count = 1;
  };
  /// The kernels of an op's pass in their order, kept as long as this. Not for attention.
  const std::vector<Use>& uses(const LayerOp& op, bool is_backward);

 private:
  // What decides an op's kernels: all but its cause.
  struct OpPass {
    LayerOp::Kind kind;
    bool is_backward;
    bool frozen;
    int gpus;
    int nodes;
    double count;
    std::int64_t rows;
    std::int64_t out;
    std::int64_t in;
    std::int64_t bytes;
    std::string_view op;
    auto operator<=>(const OpPass&) const = default;
  };

  PricedKernel price(const KernelCase& kernel);
  KernelTime extrapolate(const KernelCase& kernel);
  KernelTime extrapolate_collective(const KernelCase& kernel);
  double memory_bytes_per_s() const;

  const HardwareProfile& profile_;
  const Cluster& cluster_;
  GemmShapes shapes_;
  std::map<std::string, PricedKernel> known_;  // by text
  std::map<OpPass, std::vector<Use>> known_uses_;
};

}  // namespace packsim
