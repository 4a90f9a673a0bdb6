#pragma once

#include <array>
#include <string_view>

namespace packsim {

/// A way to train that no scenario can ask for.
struct NotModelled {
  std::string_view what;
  std::string_view text;  ///< what is modelled in its place, or that a scenario with it is refused
};

/// Those that people ask for. `packsim list support` shows them.
inline constexpr std::array<NotModelled, 6> kNotModelled = {{
    {"fp4, fp16, fp8 of other parts",
     "Matrix products of layers are in bf16 or fp8 (\"precision\"). Attention, the head, gradients and what "
     "is sent between GPUs are in bf16 or fp32, but for gathers of weights (\"fp8_gather\")."},
    {"pipelines that gather often",
     "With a pipeline, ZeRO 3 gathers weights once a step and keeps them, and ZeRO 2 and 3 reduce gradients "
     "in the last micro-batch. Doing so in every micro-batch (torchtitan's reshard_after_forward \"always\") "
     "cannot be asked for."},
    {"weights sharded by node alone",
     "With shard_degree all that the ZeRO stage shards has the same groups. Weights in other groups than "
     "gradients and optimizer states (DeepSpeed's zero_hpz_partition_size) cannot be asked for."},
    {"offload to disks, of parts",
     "Of what \"offload\" names all is in host memory: no NVMe (ZeRO-Infinity), no part that stays on the "
     "GPU (ZeRO-Offload++), and of activations only the inputs of checkpointed layers (not keys and values "
     "in chunks, as Ulysses-Offload has it)."},
    {"adapters of several ranks, DoRA",
     "Adapters have one rank, and are those of LoRA. Embedding and head have none."},
    {"experts split by less than TP",
     "Routed experts are whole on a GPU, or split over all tensor-parallel GPUs (splits_experts); Megatron's "
     "expert_tensor_parallel_size may also be in between."},
}};

}  // namespace packsim
