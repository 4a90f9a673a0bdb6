#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "models/layers/layer_ops.hpp"

namespace packsim_test {

using Ops = std::vector<packsim::LayerOp>;
using KernelsOfOp = std::function<std::vector<packsim::CountedKernel>(const packsim::LayerOp&)>;

/// Of all products.
inline double flop(const Ops& ops, const KernelsOfOp& kernels = packsim::forward_kernels) {
  double flop = 0;
  for (const packsim::LayerOp& op : ops) {
    if (op.kind != packsim::LayerOp::Kind::linear) continue;
    for (const packsim::CountedKernel& use : kernels(op)) flop += use.count * kernel_flop(use.kernel);
  }
  return flop;
}

/// Bytes of the exchanges with a cause, and of one collective if it is named.
inline double payload(const Ops& ops, packsim::Cause cause, std::string_view collective = "") {
  double bytes = 0;
  for (const packsim::LayerOp& op : ops) {
    if (op.kind != packsim::LayerOp::Kind::exchange || op.cause != cause) continue;
    if (collective.empty() || op.op == collective) bytes += static_cast<double>(op.bytes) * op.count;
  }
  return bytes;
}

inline packsim::ParallelPlan plan_of(int tp, int sp, int ep = 1) {
  packsim::ParallelPlan plan;
  plan.tp_degree = tp;
  plan.sequence.ulysses = sp;
  plan.ep_degree = ep;
  plan.n_gpus = 64;
  return plan;
}

/// Tokens of a GPU. Every expert of the models in expert_models.hpp gets a whole number of them.
inline constexpr std::int64_t kTokens = 3840;

/// The forward pass of a layer in nodes of 8 GPUs.
inline Ops forward(const packsim::Transformer& model, const packsim::ParallelPlan& plan,
                   packsim::LayerKind kind = packsim::LayerKind::dense) {
  return layer_forward(model, plan, 8, kind, kTokens);
}

/// Of a layer's products, over all GPUs that share a token's sequence.
inline double flop_per_token(const packsim::Transformer& model, const packsim::ParallelPlan& plan,
                             packsim::LayerKind kind) {
  return flop(forward(model, plan, kind)) / kTokens;
}

}  // namespace packsim_test
