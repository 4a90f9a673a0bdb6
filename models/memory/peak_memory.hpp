#pragma once

#include <optional>
#include <string_view>

#include "models/cluster.hpp"
#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// What does not follow from sizes: numbers of a framework profile.
struct MemoryAssumptions {
  /// CUDA context, NCCL's channels, workspaces of libraries, fragmentation.
  double reserved_bytes = 0;
  /// Work space of the loss for one token and vocabulary entry, the last norm's tensors included.
  double logits_bytes_per_vocab_entry = 0;
  /// Norms and the MLP's activation are one kernel each, which keep less (LayerActivations).
  bool fused_kernels = false;
};

enum class PeakMoment {
  loss,            ///< in the last stage, with all activations and the logits
  backward,        ///< of some layer, recomputed if it was checkpointed; later layers are done
  optimizer_step,  ///< nothing but states
};
std::string_view moment_name(PeakMoment moment);

/// What the fullest GPU holds when it is fullest.
struct MemoryPeak {
  double weights_bytes = 0;
  double gradients_bytes = 0;
  double optimizer_bytes = 0;            ///< in the optimizer step with the fp32 copy of bf16 gradients
  double activations_bytes = 0;          ///< kept by layers that are not checkpointed in full
  double checkpoints_bytes = 0;          ///< inputs of layers that are
  double recomputed_bytes = 0;           ///< what the checkpointed layer at work has recomputed
  double activation_gradient_bytes = 0;  ///< of the layer at work
  double logits_bytes = 0;
  double gathered_weights_bytes = 0;  ///< ZeRO-3: of the layer at work and the one after it
  double bucket_bytes = 0;            ///< ZeRO-2 and 3: gradients on their way to their shards
  double exchange_bytes = 0;          ///< buffers of the layer's exchanges
  double reserved_bytes = 0;

  /// Host memory of a node if all its GPUs were of the stage that offloads most. Not part of the total.
  double host_bytes = 0;
  PeakMoment moment = PeakMoment::loss;
  int stage = 0;  ///< the pipeline stage that the GPU is of

  double total_bytes() const;
};

/// The peak over all moments of a step and all pipeline stages. The plan must be one that plan_mistakes()
/// finds nothing wrong with.
///
/// tokens_per_gpu: of the largest micro-batch, padding included, divided by plan.sequence_gpus(). A pipeline
/// stage is taken to hold only such micro-batches.
///
/// Buckets: gradients that every GPU keeps whole (stages 0 and 1) travel from where they lie. Sharded ones
/// are collected in one bucket of plan.execution.bucket_elements while another travels, as with DeepSpeed's
/// overlap_comm.
///
/// Throws std::invalid_argument for tokens_per_gpu < 0, n_micro_batches < 1, and plan.gc_layers that the
/// model does not have.
MemoryPeak peak_memory(const Transformer& model, const Cluster& cluster, const ParallelPlan& plan,
                       const MemoryAssumptions& assumptions, double tokens_per_gpu, int n_micro_batches = 1);

/// Whether the GPU's memory holds it and the node's memory holds what is offloaded. A node whose memory is
/// not stated holds everything.
bool fits(const Cluster& cluster, const MemoryPeak& peak);

/// The fewest checkpointed layers that fit; none where no number of them does. plan.gc_layers is not read.
std::optional<int> fewest_gc_layers(const Transformer& model, const Cluster& cluster,
                                    const ParallelPlan& plan, const MemoryAssumptions& assumptions,
                                    double tokens_per_gpu, int n_micro_batches = 1);

}  // namespace packsim
