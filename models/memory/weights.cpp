#include "models/memory/weights.hpp"

#include <algorithm>

#include "models/layers/linear_layers.hpp"
#include "models/memory/stages.hpp"

namespace packsim {
namespace {

// One GPU's part of a matrix.
struct Shard {
  double out = 0;
  double in = 0;
};

Shard shard_of(const Transformer& model, const ParallelPlan& plan, const LinearLayer& layer) {
  Shard shard{.out = static_cast<double>(layer.out), .in = static_cast<double>(layer.in)};
  if (layer.replicated) return shard;
  double& split = layer.splits_in ? shard.in : shard.out;
  split /= plan.tp_degree;
  // A key or value head is not split any further.
  if (layer.name == "k" || layer.name == "v") split = std::max(split, static_cast<double>(model.head_dim));
  return shard;
}

template <typename Elements>
GpuWeights sum_over_matrices(const Transformer& model, const ParallelPlan& plan, LayerKind kind,
                             Elements elements) {
  GpuWeights weights;
  for (const LinearLayer& layer : linear_layers(model, kind)) {
    const double of_one = elements(shard_of(model, plan, layer));
    if (layer.copies > 1) {
      weights.experts += of_one * layer.copies / plan.ep_degree;
    } else {
      weights.dense += of_one;
    }
  }
  return weights;
}

template <typename LayerWeights>
GpuWeights sum_over_layers(const Transformer& model, const ParallelPlan& plan, int stage,
                           LayerWeights layer_weights_of) {
  GpuWeights weights;
  for (const LayerChunk& chunk : stage_chunks(model, plan, stage))
    for (const StageLayer& layer : chunk) weights += layer_weights_of(model, plan, layer.kind);
  return weights;
}

}  // namespace

int expert_state_gpus(const ParallelPlan& plan) {
  return plan.n_gpus / (plan.pp_degree * plan.ep_degree);
}

GpuWeights layer_weights(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  GpuWeights weights =
      sum_over_matrices(model, plan, kind, [](const Shard& shard) { return shard.out * shard.in; });
  weights.dense += model.layer_parameters(kind) - model.layer_matmul_parameters(kind);
  return weights;
}

GpuWeights layer_adapters(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  return sum_over_matrices(model, plan, kind,
                           [&](const Shard& shard) { return plan.lora_rank * (shard.out + shard.in); });
}

double vocabulary_weights(const Transformer& model, const ParallelPlan& plan) {
  return static_cast<double>(model.vocab_size) * model.hidden_size / plan.tp_degree;
}

GpuWeights stage_weights(const Transformer& model, const ParallelPlan& plan, int stage) {
  const bool is_first = stage == 0;
  const bool is_last = stage == plan.pp_degree - 1;
  GpuWeights weights = sum_over_layers(model, plan, stage, layer_weights);
  if (is_first) weights.dense += vocabulary_weights(model, plan);
  if (is_last && !(is_first && model.tied_embeddings)) weights.dense += vocabulary_weights(model, plan);
  if (is_last) weights.dense += model.hidden_size;
  return weights;
}

GpuWeights stage_adapters(const Transformer& model, const ParallelPlan& plan, int stage) {
  return sum_over_layers(model, plan, stage, layer_adapters);
}

}  // namespace packsim
