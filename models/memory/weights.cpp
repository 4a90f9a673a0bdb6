#include "models/memory/weights.hpp"

#include <algorithm>

#include "models/layers/linear_layers.hpp"
#include "models/memory/stages.hpp"
#include "models/state_traffic.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

// elements(layer, rows, columns): elements of one copy of a linear layer on a GPU, whose part of the matrix
// has these rows and columns.
template <typename Elements>
GpuWeights sum_over_matrices(const Transformer& model, const ParallelPlan& plan, LayerKind kind,
                             Elements elements) {
  GpuWeights weights;
  for (const LinearLayer& layer : linear_layers(model, kind)) {
    const int gpus = plan.split_degree(layer.copies);
    const double of_one = elements(layer, layer.out_width().share(gpus), layer.in_width().share(gpus));
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
  for (const LayerChunk& chunk : stage_chunks(model, plan, stage)) {
    for (const AlikeLayers& layers : chunk) {
      const GpuWeights of_layer = layer_weights_of(model, plan, layers.kind);
      weights += {.dense = layers.n_layers * of_layer.dense, .experts = layers.n_layers * of_layer.experts};
    }
  }
  return weights;
}

}  // namespace

int expert_state_gpus(const ParallelPlan& plan) {
  return plan.n_gpus / (plan.pp_degree * plan.ep_degree * plan.expert_tp_degree());
}

int expert_shard_gpus(const ParallelPlan& plan) {
  return expert_state_gpus(plan) / shard_replicas(plan);
}

double elements_of_gpu(const ParallelPlan& plan, const GpuWeights& weights, bool is_sharded) {
  if (!is_sharded) return weights.total();
  return weights.dense / shard_gpus(plan) + weights.experts / expert_shard_gpus(plan);
}

double gradient_element_bytes(const ParallelPlan& plan) {
  return plan.execution.fp32_gradients ? static_cast<double>(kFp32Bytes)
                                       : plan.execution.optimizer->gradient_bytes;
}

double sent_gradient_bytes(const ParallelPlan& plan) {
  if (!shards_gradients(plan)) return gradient_element_bytes(plan);
  return static_cast<double>(plan.execution.fp32_gradients ? kFp32Bytes : kBf16Bytes);
}

GpuWeights layer_matrices(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  return sum_over_matrices(model, plan, kind,
                           [](const LinearLayer&, double out, double in) { return out * in; });
}

GpuWeights layer_weights(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  GpuWeights weights = layer_matrices(model, plan, kind);
  weights.dense += model.layer_norm_and_bias_parameters(kind);
  return weights;
}

GpuWeights layer_adapters(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  return sum_over_matrices(model, plan, kind, [&](const LinearLayer& layer, double out, double in) {
    return plan.lora_targets.adapts(layer.name) ? plan.lora_rank * (out + in) : 0.0;
  });
}

double largest_matrix(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  double largest = 0;
  for (const LinearLayer& layer : linear_layers(model, kind)) {
    const int gpus = plan.split_degree(layer.copies);
    largest = std::max(largest, layer.out_width().share(gpus) * layer.in_width().share(gpus));
  }
  return largest;
}

double vocabulary_weights(const Transformer& model, const ParallelPlan& plan) {
  return static_cast<double>(model.vocab_size) * model.hidden_size / plan.tp_degree;
}

GpuWeights stage_matrices(const Transformer& model, const ParallelPlan& plan, int stage) {
  return sum_over_layers(model, plan, stage, layer_matrices);
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
