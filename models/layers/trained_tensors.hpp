#pragma once

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Number of tensors of a layer that are trained: matrices, biases and norms, or the two matrices of each
/// adapter. Routed experts are as many as a GPU holds, each with its own.
double trained_tensors(const Transformer& model, const ParallelPlan& plan, LayerKind kind);

}  // namespace packsim
