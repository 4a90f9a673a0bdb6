#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/cluster.hpp"
#include "models/kernels/gemm_shapes.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/layers/layer_op.hpp"
#include "models/network/network_rates.hpp"
#include "models/step/price_account.hpp"

namespace packsim {

CurveName curve_name(const KernelCase& kernel);

/// The time of a kernel, and the curve that would have to be measured to know it better.
struct PricedKernel : KernelTime {
  KernelCase kernel = {};
  CurveName curve = {};
  /// Time of the kernel if the cluster's links did not limit it; time_s is larger if they do.
  double kernel_s = 0;

  /// Time of `count` such kernels in a framework in which each takes `factor` times as long. The factor does
  /// not apply to the time that the links need.
  TimeEstimate estimate(double count = 1, double factor = 1) const {
    const double links_s = time_s > kernel_s ? time_s : 0;
    const double known_s = count * std::max(factor * kernel_s, links_s);
    return {known_s, known_s * relative_error, evidence};
  }
};

/// Prices kernels on a cluster by its hardware profile. Kernels that the profile does not cover are priced by
/// the rules below. A price by a rule has the evidence `missing`, so that a report can say what share of the
/// time rests on such prices.
///
///   elementwise backward  the forward kernel of the same op, times the ratio of the bytes that the two move
///   fp8 products          those of bf16 by the peaks of formats (models/kernels/narrow_gemm_time.hpp), which
///                         count as extrapolated
///   memory-bound          their bytes at the rate of the profile's fastest copies, else of its fastest
///                         elementwise kernels, else at the share of the stated rate that an H100 reaches
///   matrix products       the longer of their flop at half of the GPU's stated peak (an H100's, if the
///                         cluster states none) and their bytes as above
///   host copies           their bytes at three quarters of the rate of the cluster's host link
///   all-gather, reduce-scatter between nodes: half of an all-reduce, which consists of one of each
///   all-to-all between nodes: the larger of its part inside the node and of its part on the GPU's network
///                         cards, at the rate of the profile's send_recv between nodes
///   other collectives     the bytes that a GPU sends, at three quarters of the cluster's stated rate
///
/// No price is less than least_kernel_s(), and none of a collective less than the cluster's NVLink, network
/// cards or leaf uplinks need at their stated rates. If the profile was not scaled to the cluster's links,
/// such a collective is priced at three quarters of these rates. Both are prices by a rule, too.
class KernelPricer {
 public:
  /// Both are kept by reference.
  KernelPricer(const HardwareProfile& profile, const Cluster& cluster);

  /// The time is above 0 for every kernel except a launch gap that the profile does not have. A price by a
  /// rule has the rule's relative error as well.
  const PricedKernel& time(const KernelCase& kernel);
  /// The same for a send_recv between two GPUs, which are in so many nodes, and for a copy.
  const PricedKernel& send(int n_nodes, std::int64_t size_bytes);
  const PricedKernel& copy(std::string_view kind, std::int64_t size_bytes);
  /// The texts of all kernels that it was asked for, sorted.
  std::vector<std::string> asked_for() const;

  /// A kernel of an op, and how often it runs.
  struct Use {
    const PricedKernel* kernel = nullptr;
    double count = 1;
  };
  /// The kernels of one pass of an op, in order; valid as long as this object. Not for attention.
  const std::vector<Use>& uses(const LayerOp& op, bool is_backward);

 private:
  // A name. Most often, equal ones are the same text in the program.
  struct Name : std::string_view {
    bool operator==(const Name& other) const {
      return size() == other.size() && (data() == other.data() || std::string_view(*this) == other);
    }
  };
  // Everything on which an op's kernels depend: all its members except the cause and the stride.
  struct OpPass {
    LayerOp::Kind kind;
    bool is_backward;
    bool backward_only;
    bool frozen;
    int gpus;
    int nodes;
    double count;
    std::int64_t rows;
    std::int64_t out;
    std::int64_t in;
    std::int64_t bytes;
    Name op;
    Name dtype;
    ProductCasts casts;
    const PartStyle* style;
    bool operator==(const OpPass&) const = default;
  };
  struct OpPassHash {
    std::size_t operator()(const OpPass& pass) const;
  };

  PricedKernel price(const KernelCase& kernel);
  KernelTime extrapolate(const KernelCase& kernel);
  KernelTime extrapolate_collective(const KernelCase& kernel);
  double memory_bytes_per_s() const;

  const HardwareProfile& profile_;
  const Cluster& cluster_;
  NetworkRates network_;
  GemmShapes shapes_;
  std::unordered_map<std::string, PricedKernel> known_;  // by text
  std::unordered_map<OpPass, std::vector<Use>, OpPassHash> known_uses_;
  std::map<std::pair<int, std::int64_t>, const PricedKernel*> known_sends_;
  std::map<std::pair<std::string_view, std::int64_t>, const PricedKernel*> known_copies_;
};

}  // namespace packsim
