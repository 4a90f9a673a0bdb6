#include "models/memory.hpp"

namespace packsim {

double model_state_bytes(const Transformer& model, int zero_stage, int n_gpus) {
  const double parameters = model.parameters();
  constexpr double kWeights = 2;        // bf16
  constexpr double kGradients = 2;      // bf16
  constexpr double kOptimizer = 12;     // fp32 master weights and two moments
  constexpr double kGradientsFp32 = 4;  // accumulated in fp32 where they are not sharded
  switch (zero_stage) {
    case 0:
      return parameters * (kWeights + kGradientsFp32 + kOptimizer);
    case 1:
      return parameters * (kWeights + kGradientsFp32 + kOptimizer / n_gpus);
    case 2:
      return parameters * (kWeights + (kGradients + kOptimizer) / n_gpus);
    default:
      return parameters * (kWeights + kGradients + kOptimizer) / n_gpus;
  }
}

double activation_bytes_per_token(const Transformer& model) {
  constexpr double kBf16 = 2;
  constexpr double kFp32 = 4;
  const double h = model.hidden_size;
  const double norms = 2 * (kFp32 + kBf16 + kBf16) * h;  // fp32 copy, normalised input, output, twice a layer
  // Rotated queries, keys, values, the kernel's output, and that output once more after the all-to-all.
  const double attention = kBf16 * (3 * model.query_width() + 2 * model.kv_width());
  const double mlp = 4 * kBf16 * model.ffn_size;  // gate, its activation, up, their product
  return norms + attention + mlp;
}

MemoryUse peak_memory(const Transformer& model, const Cluster& cluster, const FrameworkProfile& profile,
                      int zero_stage, double tokens_per_gpu, int gc_layers) {
  return {
      .states_bytes = model_state_bytes(model, zero_stage, cluster.n_gpus()),
      .activations_bytes = tokens_per_gpu * (model.n_layers - gc_layers) * activation_bytes_per_token(model),
      .checkpoints_bytes = tokens_per_gpu * gc_layers * 2.0 * model.hidden_size,
      .logits_bytes = tokens_per_gpu * model.vocab_size * profile.logits_bytes_per_vocab_entry,
      .reserved_bytes = profile.reserved_bytes};
}

int fewest_gc_layers(const Transformer& model, const Cluster& cluster, const FrameworkProfile& profile,
                     int zero_stage, double tokens_per_gpu) {
  for (int gc_layers = 0; gc_layers <= model.n_layers; ++gc_layers) {
    const MemoryUse use = peak_memory(model, cluster, profile, zero_stage, tokens_per_gpu, gc_layers);
    if (use.total_bytes() <= static_cast<double>(cluster.gpu_memory_bytes)) return gc_layers;
  }
  return -1;
}

}  // namespace packsim
