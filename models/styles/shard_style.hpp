#pragma once

#include <array>
#include <string_view>

#include "packing/policies/policies.hpp"

namespace packsim {

/// What the host does for a unit of sharded weights, such as a layer under ZeRO 3, in launches of a plain
/// operation of PyTorch.
struct ShardStyle {
  std::string_view name;
  std::string_view text;
  double gather_launches = 0;  ///< in each pass, to gather its weights
  double reduce_launches = 0;  ///< in each backward pass that reduces its gradients

  bool operator==(const ShardStyle&) const = default;
};

/// Copies into the buffer of the all-gather, the all-gather, and copies out of it; and for gradients a copy
/// into the buffer, a division, the reduce-scatter and a cast (torch/distributed/fsdp/_fully_shard,
/// _fsdp_collectives.py at 010ae4a8, read). What the hooks take in Python is not in it.
inline constexpr ShardStyle kFsdp2 = {.name = "fsdp2",
                                      .text = "PyTorch's fully_shard: kernels alone, no work of its hooks",
                                      .gather_launches = 4,
                                      .reduce_launches = 4};
/// DeepSpeed's ZeRO 3 has hooks before and behind every module, and in each it looks up, gathers and releases
/// weights in Python. Fitted to nine steps of Qwen's full fine-tuning on A100s, seven of which wait for their
/// hosts (docs/accuracy/user_stacks.md). Gathers and reductions cannot be told apart in them.
inline constexpr ShardStyle kDeepSpeedZero3 = {.name = "deepspeed",
                                               .text = "DeepSpeed's ZeRO 3, with hooks at every module",
                                               .gather_launches = 309,
                                               .reduce_launches = 4};

/// All styles. The first is that of a plan of which nothing is said.
inline constexpr std::array<PolicyName<const ShardStyle*>, 2> kShardStyles = {{
    {&kFsdp2, kFsdp2.name, kFsdp2.text},
    {&kDeepSpeedZero3, kDeepSpeedZero3.name, kDeepSpeedZero3.text},
}};

}  // namespace packsim
