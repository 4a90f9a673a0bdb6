#include "models/memory/activations.hpp"

#include <algorithm>

#include "models/layers/linear_layers.hpp"
#include "models/memory/value_bytes.hpp"

namespace packsim {
namespace {

// What elementwise operations keep for their backward pass.
struct Kept {
  double norm_bytes =
      0;  // of a value: an fp32 copy, the normalised input and the output, or input and output
  double mlp_tensors = 0;  // gate, its activation, up and their product, or all but the activation
};

Kept kept_tensors(bool fused_kernels) {
  if (fused_kernels) return {.norm_bytes = kBf16 + kBf16, .mlp_tensors = 3};
  return {.norm_bytes = kFp32 + kBf16 + kBf16, .mlp_tensors = 4};
}

// Values of one token in all heads of a tensor-parallel and sequence group.
struct AttentionWidths {
  double query = 0;
  double key = 0;
  double value = 0;
  double output = 0;
};

AttentionWidths attention_widths(const Transformer& model, const ParallelPlan& plan) {
  const double copies = std::max(1.0, 1.0 * plan.tp_degree * plan.sequence.ulysses / model.n_kv_heads);
  return {.query = model.query_width(),
          .key = model.kv_width() * copies,
          .value = 1.0 * model.n_kv_heads * model.value_head_dim() * copies,
          .output = model.attention_width()};
}

bool sends_latents(const Transformer& model, const ParallelPlan& plan) {
  return model.has_latent_attention() && plan.latent_exchange && plan.sequence.ulysses > 1;
}

double latent_bytes(const Transformer& model, const ParallelPlan& plan, const Kept& kept) {
  const LatentAttention& latent = model.latent;
  double bytes = kept.norm_bytes * (latent.q_lora_rank + latent.kv_lora_rank);
  if (sends_latents(model, plan))
    bytes += kBf16 * plan.sequence.ulysses * (latent.kv_lora_rank + latent.qk_rope_head_dim);
  return bytes * plan.tp_degree;
}

double attention_bytes(const Transformer& model, const ParallelPlan& plan, const Kept& kept) {
  const AttentionWidths width = attention_widths(model, plan);
  double bytes = kBf16 * (width.query + width.key + width.value + 2 * width.output);
  if (model.has_latent_attention()) bytes += latent_bytes(model, plan, kept);
  // The output of these norms goes into the rotation, which keeps nothing of it.
  if (model.qk_norm) bytes += (kept.norm_bytes - kBf16) * (model.query_width() + model.kv_width());
  return bytes;
}

double expert_bytes(const Transformer& model, const Kept& kept) {
  const Experts& experts = model.experts;
  const double h = model.hidden_size;
  constexpr double kIndex = 8;  // int64
  const double router = kFp32 * experts.n_routed + (kFp32 + kIndex) * experts.per_token;
  const double copy = kBf16 * (2 * h + kept.mlp_tensors * experts.ffn_size);
  const double shared = kBf16 * kept.mlp_tensors * experts.shared_ffn_size;
  const double gate = experts.shared_gate ? kBf16 * (h + 1) : 0;  // the shared experts' output, the gate's
  return router + experts.per_token * copy + shared + gate;
}

// The narrow tensor between the two matrices of every adapter.
double adapter_bytes(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  double tokens = 0;
  for (const LinearLayer& layer : linear_layers(model, kind))
    tokens += layer.copies > 1 ? layer.copies * layer.token_share : plan.tp_degree;
  return kBf16 * plan.lora_rank * tokens;
}

double mlp_width(const Transformer& model, LayerKind kind) {
  if (kind == LayerKind::dense) return model.ffn_size;
  return std::max(1.0 * model.experts.per_token * model.experts.ffn_size,
                  1.0 * model.experts.shared_ffn_size);
}

double exchange_bytes(const Transformer& model, const ParallelPlan& plan, LayerKind kind) {
  const double h = model.hidden_size;
  const AttentionWidths width = attention_widths(model, plan);
  double largest = 0;
  // The gathered input, and the partial sums on their way to the reduce-scatter.
  if (plan.tp_degree > 1) largest = kBf16 * 2 * plan.tp_degree * h;
  // What is sent, in the order that the all-to-all needs; what is received is counted where it is kept.
  if (plan.sequence.ulysses > 1) {
    const double sent =
        sends_latents(model, plan)
            ? plan.tp_degree * (model.latent.kv_lora_rank + 1.0 * model.latent.qk_rope_head_dim)
            : width.key + width.value;
    largest = std::max(largest, kBf16 * (width.query + sent));
  }
  // Keys and values at work and those arriving, and as many of their gradients, which add up in fp32.
  if (plan.sequence.ring > 1) largest = std::max(largest, 2 * (kBf16 + kFp32) * (width.key + width.value));
  // Tokens sent to their experts, and those received back.
  if (plan.ep_degree > 1 && kind == LayerKind::expert)
    largest = std::max(largest, kBf16 * 2 * model.experts.per_token * h);
  // Activations from the stage before and gradients from the one behind.
  if (plan.pp_degree > 1) largest += kBf16 * 2 * h;
  return largest;
}

}  // namespace

LayerActivations layer_activations(const Transformer& model, const ParallelPlan& plan, LayerKind kind,
                                   bool fused_kernels) {
  const double h = model.hidden_size;
  const Kept tensors = kept_tensors(fused_kernels);
  const double mlp =
      kind == LayerKind::dense ? kBf16 * tensors.mlp_tensors * model.ffn_size : expert_bytes(model, tensors);
  const double kept = 2 * tensors.norm_bytes * h + attention_bytes(model, plan, tensors) + mlp +
                      adapter_bytes(model, plan, kind);
  return {.kept_bytes = kept,
          .selective_bytes = kept - kBf16 * model.attention_width(),
          .input_bytes = kBf16 * h,
          // Of the residual stream and the layer's output; of the activated gate, up and their product, less
          // the product itself.
          .gradient_bytes = kBf16 * (2 * h + 2 * mlp_width(model, kind)),
          .exchange_bytes = exchange_bytes(model, plan, kind)};
}

}  // namespace packsim
