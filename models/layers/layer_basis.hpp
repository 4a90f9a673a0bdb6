#pragma once

#include "models/parallel_plan.hpp"

namespace packsim {

/// All of a plan on which the kernels of its layers, embedding and head depend for a number of tokens on a
/// GPU, but for attention. Plans with equal ones differ in what happens between and behind the layers: stages,
/// shards and replicas; and, where no layer has a window, in their rings.
class LayerBasis {
 public:
  LayerBasis(const Transformer& model, const ParallelPlan& plan);
  bool operator==(const LayerBasis&) const = default;

 private:
  ParallelPlan plan_;  // with what layers do not see at one value
  bool casts_in_passes_ = false;
  bool casts_weights_in_passes_ = false;
};

}  // namespace packsim
