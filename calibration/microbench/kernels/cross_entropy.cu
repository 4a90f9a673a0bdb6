#include <cuda_bf16.h>

#include "calibration/microbench/kernels/device.hpp"
#include "calibration/microbench/kernels/elementwise.hpp"
#include "calibration/microbench/kernels/vectors.cuh"
#include "calibration/microbench/kernels/verify/formulas.hpp"

namespace packsim::microbench {
namespace {

constexpr int kThreads = 512;

// Sum of e^(x - largest), with the largest x so far: what a softmax needs in one pass over its row.
struct RunningSum {
  float largest;
  float sum;
};

__device__ RunningSum merged(RunningSum a, RunningSum b) {
  const float largest = fmaxf(a.largest, b.largest);
  // Nothing seen yet is -infinity, whose difference to itself is no number.
  if (largest == -INFINITY) return {largest, 0.0f};
  return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

__device__ RunningSum merged_over_warp(RunningSum value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const RunningSum other = {__shfl_xor_sync(0xFFFFFFFFu, value.largest, offset),
                              __shfl_xor_sync(0xFFFFFFFFu, value.sum, offset)};
    value = merged(value, other);
  }
  return value;
}

// A block a row.
template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(std::int64_t cols, const __nv_bfloat16* __restrict__ logits,
                   const std::int32_t* __restrict__ targets, float* __restrict__ losses,
                   float* __restrict__ log_sums) {
  __shared__ RunningSum shared[kThreads / 32];
  const std::int64_t row = blockIdx.x;
  const __nv_bfloat16* row_logits = logits + row * cols;
  RunningSum mine = {-INFINITY, 0.0f};
#pragma unroll 4
  for (std::int64_t col = threadIdx.x * kWidth; col < cols; col += kThreads * kWidth) {
    const Values<kWidth> x = load_values<kWidth>(row_logits + col);
    float largest = x.at[0];
#pragma unroll
    for (int i = 1; i < kWidth; ++i) largest = fmaxf(largest, x.at[i]);
    largest = fmaxf(largest, mine.largest);
    float sum = mine.sum * __expf(mine.largest - largest);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum += __expf(x.at[i] - largest);
    mine = {largest, sum};
  }
  mine = merged_over_warp(mine);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const RunningSum nothing = {-INFINITY, 0.0f};
  mine = merged_over_warp(threadIdx.x < kThreads / 32 ? shared[threadIdx.x] : nothing);
  if (threadIdx.x == 0) {
    const float log_sum = mine.largest + logf(mine.sum);
    log_sums[row] = log_sum;
    losses[row] = log_sum - __bfloat162float(row_logits[targets[row]]);
  }
}

// A block a row, like forward.
template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(std::int64_t cols, const __nv_bfloat16* __restrict__ logits,
                    const std::int32_t* __restrict__ targets, const float* __restrict__ log_sums, float scale,
                    __nv_bfloat16* __restrict__ logits_gradient) {
  const std::int64_t row = blockIdx.x;
  const float log_sum = log_sums[row];
  const std::int64_t target = targets[row];
#pragma unroll 4
  for (std::int64_t col = threadIdx.x * kWidth; col < cols; col += kThreads * kWidth) {
    Values<kWidth> x = load_values<kWidth>(logits + row * cols + col);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      x.at[i] = cross_entropy_backward(x.at[i], log_sum, col + i == target, scale);
    store_values<kWidth>(logits_gradient + row * cols + col, x);
  }
}

}  // namespace

void cross_entropy_forward(Shape shape, const __nv_bfloat16* logits, const std::int32_t* targets,
                           float* losses, float* log_sums, cudaStream_t stream) {
  const auto kernel = shape.cols % 8 == 0 ? forward_kernel<8> : forward_kernel<1>;
  kernel<<<grid_of(shape.rows), kThreads, 0, stream>>>(shape.cols, logits, targets, losses, log_sums);
  check_cuda(cudaGetLastError(), "launch cross_entropy forward");
}

void cross_entropy_backward(Shape shape, const __nv_bfloat16* logits, const std::int32_t* targets,
                            const float* log_sums, float scale, __nv_bfloat16* logits_gradient,
                            cudaStream_t stream) {
  const auto kernel = shape.cols % 8 == 0 ? backward_kernel<8> : backward_kernel<1>;
  kernel<<<grid_of(shape.rows), kThreads, 0, stream>>>(shape.cols, logits, targets, log_sums, scale,
                                                       logits_gradient);
  check_cuda(cudaGetLastError(), "launch cross_entropy backward");
}

}  // namespace packsim::microbench
