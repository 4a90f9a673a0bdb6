#pragma once

#include <cstdint>

#include "models/styles/expert_style.hpp"
#include "models/styles/kernel_styles.hpp"
#include "models/styles/loss_style.hpp"
#include "models/styles/optimizer_kind.hpp"
#include "models/styles/shard_style.hpp"

namespace packsim {

/// The time in which PyTorch launches the product of an nn.Linear from a Xeon 8480C
/// (NVIDIA/TransformerEngine, issue 2053). From a Grace CPU it is 33 to 37 us, and for a Linear of
/// Transformer Engine 90 to 100 us there.
inline constexpr double kTorchLaunch_s = 13.5e-6;

/// How a training framework executes a step, apart from the degrees of parallelism. A framework profile says
/// what its framework does; a plan does the same unless its scenario says otherwise.
struct ExecutionStyle {
  /// Time in which the host launches one plain operation of PyTorch, autograd included. 0 for CUDA graphs,
  /// and where the host is always ahead.
  double launch_s = 0;
  /// Which kernels compute a layer beside its matrix products and attention.
  const KernelStyle* kernels = kKernelStyles.front().value;
  const ExpertStyle* experts = kExpertStyles.front().value;
  const LossStyle* loss = kLossStyles.front().value;
  const ShardStyle* shards = kShardStyles.front().value;
  const OptimizerKind* optimizer = kOptimizerKinds.front().value;
  /// Number of gradients or weights that are sent in one collective. The default is DeepSpeed's.
  std::int64_t bucket_elements = 500'000'000;
  /// Gradients are accumulated and sent in fp32 instead of bf16.
  bool fp32_gradients = false;
  /// Weights and gradients are sent while the GPU computes. Otherwise computation waits for them, and
  /// gradients that are sent once a step are sent after the backward pass (DeepSpeed's ZeRO 1 without
  /// overlap_comm).
  bool overlaps_states = true;
  /// ZeRO 1 and 2: changed weights are gathered during the next step's first forward pass (Megatron-LM's
  /// overlap_param_gather). Otherwise they are gathered after the optimizer.
  bool overlaps_gather = false;
  /// Tensor-parallel communication runs piece by piece beside the matrix products before or after it
  /// (tensor_overlap.hpp).
  bool overlaps_tensor = false;
  /// Tensor parallelism splits each routed expert as it splits an MLP, and every GPU of its group gets the
  /// tokens of all (Megatron-Core, unless expert_tensor_parallel_size is 1). Otherwise experts are whole.
  bool splits_experts = false;
  /// How often in a micro-batch the host reads what the GPU has computed, and so launches nothing more until
  /// the GPU has got there: 1 behind the backward pass (transformers' Trainer, which looks for losses that
  /// are no number: trainer.py of 5.23), 2 behind the forward pass too (TRL's SFTTrainer, for its metrics:
  /// sft_trainer.py of 1.16).
  int loss_reads = 0;
  /// Recomputation ends at the last tensor that the backward pass needs, before the down projection and the
  /// residual add, as in torch's non-reentrant checkpoint. Otherwise it runs the whole layer, as in the
  /// reentrant one.
  bool recompute_stops_early = false;
  /// Gradients are torch's own: there are none between steps, the first backward pass of a step makes them
  /// layer by layer, and a fused optimizer reads them as they are. Otherwise a buffer for all is kept and the
  /// optimizer makes an fp32 copy of bf16 gradients, as in DeepSpeed.
  bool plain_gradients = false;

  bool operator==(const ExecutionStyle&) const = default;
};

}  // namespace packsim
