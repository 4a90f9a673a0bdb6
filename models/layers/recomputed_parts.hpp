#pragma once

#include <vector>

#include "models/layers/layer_parts.hpp"
#include "models/parallel_plan.hpp"

namespace packsim {

/// The parts of a layer that it runs once more before its backward pass if it is checkpointed as the plan
/// says, in their order. parts: all parts of the layer.
std::vector<LayerPart> recomputed_parts(const ParallelPlan& plan, const std::vector<LayerPart>& parts);

/// Share of the flop of a layer's matrix products that a checkpointed layer of the model's main kind runs
/// once more.
double recomputed_product_share(const Transformer& model, const ParallelPlan& plan);
/// Forward flop of one token through the products that all tiled MLPs of the model run once more in their
/// backward pass (ParallelPlan::mlp_tiles). Tiles of the loss run nothing twice: each makes its gradients at
/// once (ALST, arXiv 2506.13996).
double tiled_flop_per_token(const Transformer& model, const ParallelPlan& plan);

}  // namespace packsim
