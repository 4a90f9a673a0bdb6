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
  KnownTime known(double count = 1, double factor = 1) const {
    const double links_s = time_s > kernel_s ? time_s : 0;
    const double known_s = count * std::max(factor * kernel_s, links_s);
    return {known_s, known_s * relative_error, standing};
  }
};

/// What kernels take on a cluster: what its hardware profile says, and a reasoned guess where that has
/// nothing. Guesses keep the standing `missing`, so that a report can say what share of time rests on them.
///
///   elementwise backward  the forward kernel of the same op, times the bytes that either moves
///   memory-bound          bytes over the rate of the profile's copies, or the fastest of its elementwise
///                         kernels
///   matrix products       half of an H100's peak, or their bytes
///   host copies           three quarters of the cluster's host link
///   all-gather, reduce-scatter between nodes: half an all-reduce, which is one after the other
///   all-to-all between nodes: the larger of its part inside the node and of its part on the GPU's network
///                         cards, at the rate of the profile's send_recv between nodes
///   other collectives     the bytes that a GPU sends, at three quarters of the cluster's stated rate
///
/// A collective that comes out faster than the cluster's NVLink, network cards or leaf uplinks can be at
/// their stated rates takes what they need at three quarters of these, which is a guess.
class KernelPricer {
 public:
  /// Both are kept by reference.
  KernelPricer(const HardwareProfile& profile, const Cluster& cluster);

  /// Never standing missing with a time of 0, but for a launch gap. A guess has a relative_error of its own.
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
  KernelTime guess(const KernelCase& kernel);
  KernelTime guess_collective(const KernelCase& kernel);
  double memory_bytes_per_s() const;

  const HardwareProfile& profile_;
  const Cluster& cluster_;
  GemmShapes shapes_;
  std::map<std::string, PricedKernel> known_;  // by text
  std::map<OpPass, std::vector<Use>> known_uses_;
};

}  // namespace packsim
