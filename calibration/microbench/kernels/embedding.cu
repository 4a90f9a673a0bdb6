#include <cuda_bf16.h>

#include "calibration/microbench/kernels/device.hpp"
#include "calibration/microbench/kernels/elementwise.hpp"
#include "calibration/microbench/kernels/vectors.cuh"

namespace packsim::microbench {
namespace {

constexpr int kThreads = 256;

// A block a row.
template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(std::int64_t cols, const std::int32_t* __restrict__ tokens,
                   const __nv_bfloat16* __restrict__ table, __nv_bfloat16* __restrict__ y) {
  const std::int64_t row = blockIdx.x;
  const __nv_bfloat16* from = table + tokens[row] * cols;
#pragma unroll 4
  for (std::int64_t col = threadIdx.x * kWidth; col < cols; col += blockDim.x * kWidth)
    store_values<kWidth>(y + row * cols + col, load_values<kWidth>(from + col));
}

// A block a row. Neighbouring threads add neighbouring pairs (or values), so that a warp's atomic additions
// share cache lines; tokens that come twice in the batch need them.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(std::int64_t n_per_row, const std::int32_t* __restrict__ tokens,
                    const T* __restrict__ y_gradient, T* __restrict__ table) {
  const std::int64_t row = blockIdx.x;
  T* into = table + tokens[row] * n_per_row;
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < n_per_row; i += blockDim.x)
    atomicAdd(into + i, y_gradient[row * n_per_row + i]);
}

// Whole warps, no more than a row has work for.
unsigned threads_for(std::int64_t n_per_row) {
  return static_cast<unsigned>(std::min<std::int64_t>(kThreads, ceil_div(n_per_row, 32) * 32));
}

}  // namespace

void embedding_forward(Shape shape, const std::int32_t* tokens, const __nv_bfloat16* table, __nv_bfloat16* y,
                       cudaStream_t stream) {
  const int width = shape.cols % 8 == 0 ? 8 : 1;
  const auto kernel = width == 8 ? forward_kernel<8> : forward_kernel<1>;
  kernel<<<grid_of(shape.rows), threads_for(shape.cols / width), 0, stream>>>(shape.cols, tokens, table, y);
  check_cuda(cudaGetLastError(), "launch embedding forward");
}

void embedding_backward(Shape shape, const std::int32_t* tokens, const __nv_bfloat16* y_gradient,
                        __nv_bfloat16* table_gradient, cudaStream_t stream) {
  if (shape.cols % 2 == 0) {
    const std::int64_t n_pairs = shape.cols / 2;
    backward_kernel<<<grid_of(shape.rows), threads_for(n_pairs), 0, stream>>>(
        n_pairs, tokens, reinterpret_cast<const __nv_bfloat162*>(y_gradient),
        reinterpret_cast<__nv_bfloat162*>(table_gradient));
  } else {
    backward_kernel<<<grid_of(shape.rows), threads_for(shape.cols), 0, stream>>>(shape.cols, tokens,
                                                                                 y_gradient, table_gradient);
  }
  check_cuda(cudaGetLastError(), "launch embedding backward");
}

}  // namespace packsim::microbench
