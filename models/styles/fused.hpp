#pragma once

#include "models/styles/kernel_style.hpp"

namespace packsim {

/// One kernel for each norm, rotary embedding, activation and residual add.
inline constexpr KernelStyle kFusedKernels = {
    .name = "fused",
    .text = "one kernel for each norm, rotary embedding and activation",
    .norm_kept_bytes = 2,
    .gemma_norm_kept_bytes = 2,
    .activation_kept_bytes = 6,
    .memory_error = 0.05,
};

}  // namespace packsim
