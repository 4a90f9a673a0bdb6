#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "calibration/microbench/core/family.hpp"

/// Launchers of the elementwise kernels. All arrays are on the GPU, bf16 where not said otherwise, [rows,
/// cols] in row-major order and aligned to 16 bytes. They queue the work on the stream and return; failures
/// to launch throw std::runtime_error.
namespace packsim::microbench {

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t size() const { return rows * cols; }
};

constexpr float kRmsNormEpsilon = 1e-5f;

/// scale: fp32 [rows], 1 / sqrt(mean(x^2) + epsilon), kept for the backward pass.
/// Throws Unavailable above 32768 columns (4096 where 8 does not divide them).
void rms_norm_forward(Shape shape, const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y,
                      float* scale, cudaStream_t stream);
/// Rows of partial sums that rms_norm_backward needs at most.
std::int64_t rms_norm_partial_rows(int n_multiprocessors);
/// weight_gradient: fp32 [cols]. partial: fp32 [min(rows, rms_norm_partial_rows), cols]. Throws Unavailable
/// above 16384 columns (2048 where 8 does not divide them).
void rms_norm_backward(Shape shape, const __nv_bfloat16* x, const __nv_bfloat16* weight, const float* scale,
                       const __nv_bfloat16* y_gradient, __nv_bfloat16* x_gradient, float* weight_gradient,
                       float* partial, int n_multiprocessors, cudaStream_t stream);

void swiglu_forward(Shape shape, const __nv_bfloat16* gate, const __nv_bfloat16* up, __nv_bfloat16* y,
                    cudaStream_t stream);
void swiglu_backward(Shape shape, const __nv_bfloat16* gate, const __nv_bfloat16* up,
                     const __nv_bfloat16* y_gradient, __nv_bfloat16* gate_gradient,
                     __nv_bfloat16* up_gradient, cudaStream_t stream);

/// y = a + b, forward and backward.
void residual_add(Shape shape, const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y,
                  cudaStream_t stream);

/// Columns of a head: 128, or 64 where 128 does not divide the columns. Throws Unavailable where neither
/// does.
std::int64_t rope_head_dim(std::int64_t cols);
/// Turns element i of a head with element i + head_dim / 2. cosines, sines: [rows, head_dim / 2].
/// direction: 1 forward, -1 backward.
void rope(Shape shape, const __nv_bfloat16* x, const __nv_bfloat16* cosines, const __nv_bfloat16* sines,
          __nv_bfloat16* y, float direction, cudaStream_t stream);

/// losses, log_sums: fp32 [rows]. targets: [rows], in 0..cols - 1.
void cross_entropy_forward(Shape shape, const __nv_bfloat16* logits, const std::int32_t* targets,
                           float* losses, float* log_sums, cudaStream_t stream);
/// scale: the gradient of each row's loss.
void cross_entropy_backward(Shape shape, const __nv_bfloat16* logits, const std::int32_t* targets,
                            const float* log_sums, float scale, __nv_bfloat16* logits_gradient,
                            cudaStream_t stream);

/// tokens: [rows]. table: [vocabulary, cols].
void embedding_forward(Shape shape, const std::int32_t* tokens, const __nv_bfloat16* table, __nv_bfloat16* y,
                       cudaStream_t stream);
/// Adds each row to the row of its token in the table's gradient.
void embedding_backward(Shape shape, const std::int32_t* tokens, const __nv_bfloat16* y_gradient,
                        __nv_bfloat16* table_gradient, cudaStream_t stream);

Prepared prepare_elementwise(const KernelCase& kernel, Device& device);

}  // namespace packsim::microbench
