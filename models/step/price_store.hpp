#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/layers/layer_basis.hpp"
#include "models/step/attention_pricer.hpp"
#include "models/step/kernel_pricer.hpp"
#include "models/step/step_price.hpp"

namespace packsim {

/// Exactly priced numbers of tokens on a GPU.
using TokenGrid = std::map<std::int64_t, TokenPrices>;

/// What is priced of one job, for all of its plans: its kernels, and numbers of tokens. Only one thread may
/// use an object.
class PriceStore {
 public:
  /// Both are kept by reference.
  PriceStore(const HardwareProfile& profile, const Cluster& cluster)
      : profile_(profile), cluster_(cluster), kernels_(profile, cluster) {}

  KernelPricer& kernels() { return kernels_; }
  /// The pricer of a pass ("fwd" or "bwd") for these heads and this ring. Valid as long as this object.
  AttentionPricer& attention_of(std::string_view pass, const AttentionShape& shape, int ring);
  /// The grid of all plans with the same LayerBasis. model: the job's.
  const std::shared_ptr<TokenGrid>& grid_of(const Transformer& model, const ParallelPlan& plan);
  /// Deletes the grids of plans that no pricer has.
  void forget_unused_grids();

 private:
  const HardwareProfile& profile_;
  const Cluster& cluster_;
  KernelPricer kernels_;
  struct KnownAttention {
    std::string pass;
    AttentionShape shape;
    int ring = 1;
    AttentionPricer pricer;
  };
  std::list<KnownAttention> attention_;  // references stay valid
  struct KnownGrid {
    LayerBasis basis;
    std::shared_ptr<TokenGrid> grid;
  };
  std::vector<KnownGrid> grids_;
};

}  // namespace packsim
