#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "calibration/microbench/core/family.hpp"
#include "calibration/microbench/kernels/verify/formulas.hpp"

namespace packsim::microbench {

/// The constants of a step as training uses them: learning rate 1e-5, betas 0.9 and 0.95, epsilon 1e-8,
/// weight decay 0.1, the 100th step.
AdamW<float> adamw_constants();

/// One step in place over n parameters: reads the bf16 gradients, updates the fp32 master weights and moments
/// and writes the bf16 weights. Arrays are aligned to 16 bytes.
void adamw(std::int64_t n, const __nv_bfloat16* gradients, __nv_bfloat16* weights, float* master,
           float* means, float* squares, const AdamW<float>& constants, cudaStream_t stream);

Prepared prepare_adamw(const KernelCase& kernel, Device& device);

}  // namespace packsim::microbench
