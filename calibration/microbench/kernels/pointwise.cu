#include <cuda_bf16.h>

#include "calibration/microbench/kernels/device.hpp"
#include "calibration/microbench/kernels/elementwise.hpp"
#include "calibration/microbench/kernels/vectors.cuh"
#include "calibration/microbench/kernels/verify/formulas.hpp"

namespace packsim::microbench {
namespace {

constexpr int kThreads = 256;

// Rows do not matter here: `n` values as pieces of kWidth, a thread a piece.
template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(std::int64_t n, const __nv_bfloat16* __restrict__ gate,
                   const __nv_bfloat16* __restrict__ up, __nv_bfloat16* __restrict__ y) {
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (at >= n) return;
  const Values<kWidth> g = load_values<kWidth>(gate + at);
  Values<kWidth> u = load_values<kWidth>(up + at);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) u.at[i] = swiglu_forward(g.at[i], u.at[i]);
  store_values<kWidth>(y + at, u);
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(std::int64_t n, const __nv_bfloat16* __restrict__ gate,
                    const __nv_bfloat16* __restrict__ up, const __nv_bfloat16* __restrict__ y_gradient,
                    __nv_bfloat16* __restrict__ gate_gradient, __nv_bfloat16* __restrict__ up_gradient) {
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (at >= n) return;
  Values<kWidth> g = load_values<kWidth>(gate + at);
  Values<kWidth> u = load_values<kWidth>(up + at);
  const Values<kWidth> gradient = load_values<kWidth>(y_gradient + at);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const Pair<float> both = swiglu_backward(g.at[i], u.at[i], gradient.at[i]);
    g.at[i] = both.first;
    u.at[i] = both.second;
  }
  store_values<kWidth>(gate_gradient + at, g);
  store_values<kWidth>(up_gradient + at, u);
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    add_kernel(std::int64_t n, const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
               __nv_bfloat16* __restrict__ y) {
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (at >= n) return;
  Values<kWidth> sum = load_values<kWidth>(a + at);
  const Values<kWidth> other = load_values<kWidth>(b + at);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) sum.at[i] += other.at[i];
  store_values<kWidth>(y + at, sum);
}

unsigned blocks_for(std::int64_t n, int width) {
  return grid_of(ceil_div(n, static_cast<std::int64_t>(kThreads) * width));
}

}  // namespace

void swiglu_forward(Shape shape, const __nv_bfloat16* gate, const __nv_bfloat16* up, __nv_bfloat16* y,
                    cudaStream_t stream) {
  const std::int64_t n = shape.size();
  if (n % 8 == 0) {
    forward_kernel<8><<<blocks_for(n, 8), kThreads, 0, stream>>>(n, gate, up, y);
  } else {
    forward_kernel<1><<<blocks_for(n, 1), kThreads, 0, stream>>>(n, gate, up, y);
  }
  check_cuda(cudaGetLastError(), "launch swiglu forward");
}

void swiglu_backward(Shape shape, const __nv_bfloat16* gate, const __nv_bfloat16* up,
                     const __nv_bfloat16* y_gradient, __nv_bfloat16* gate_gradient,
                     __nv_bfloat16* up_gradient, cudaStream_t stream) {
  const std::int64_t n = shape.size();
  if (n % 8 == 0) {
    backward_kernel<8>
        <<<blocks_for(n, 8), kThreads, 0, stream>>>(n, gate, up, y_gradient, gate_gradient, up_gradient);
  } else {
    backward_kernel<1>
        <<<blocks_for(n, 1), kThreads, 0, stream>>>(n, gate, up, y_gradient, gate_gradient, up_gradient);
  }
  check_cuda(cudaGetLastError(), "launch swiglu backward");
}

void residual_add(Shape shape, const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y,
                  cudaStream_t stream) {
  const std::int64_t n = shape.size();
  if (n % 8 == 0) {
    add_kernel<8><<<blocks_for(n, 8), kThreads, 0, stream>>>(n, a, b, y);
  } else {
    add_kernel<1><<<blocks_for(n, 1), kThreads, 0, stream>>>(n, a, b, y);
  }
  check_cuda(cudaGetLastError(), "launch residual_add");
}

}  // namespace packsim::microbench
