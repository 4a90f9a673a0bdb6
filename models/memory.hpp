#pragma once

#include <cstdint>
#include <string>

#include "models/cluster.hpp"
#include "models/framework_profile.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Peak memory of one GPU, at the loss of its largest micro-batch, by what holds it.
struct MemoryUse {
  double states_bytes = 0;       ///< weights, gradients, optimizer states under the ZeRO stage
  double activations_bytes = 0;  ///< kept for the backward pass by layers that are not checkpointed
  double checkpoints_bytes = 0;  ///< inputs of the checkpointed layers
  double logits_bytes = 0;
  double reserved_bytes = 0;  ///< of the profile

  double total_bytes() const {
    return states_bytes + activations_bytes + checkpoints_bytes + logits_bytes + reserved_bytes;
  }
};

/// States: bf16 weights and fp32 gradients on every GPU, with fp32 master weights and two Adam moments
/// sharded (stage 1); bf16 gradients sharded as well (2); weights too (3); nothing sharded (0).
double model_state_bytes(const Transformer& model, int zero_stage, int n_gpus);

/// Saved-for-backward bytes of one token in one layer that is not checkpointed, bf16 with flash attention and
/// fp32 RMSNorm copies, by counting the tensors that autograd keeps.
double activation_bytes_per_token(const Transformer& model);

/// tokens_per_gpu: of the largest micro-batch, padding included, divided by the SP degree.
MemoryUse peak_memory(const Transformer& model, const Cluster& cluster, const FrameworkProfile& profile,
                      int zero_stage, double tokens_per_gpu, int gc_layers);

/// The fewest checkpointed layers that fit, or -1 where even checkpointing all of them does not.
int fewest_gc_layers(const Transformer& model, const Cluster& cluster, const FrameworkProfile& profile,
                     int zero_stage, double tokens_per_gpu);

}  // namespace packsim
