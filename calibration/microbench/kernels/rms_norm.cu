#include <cuda_bf16.h>

#include "calibration/microbench/kernels/device.hpp"
#include "calibration/microbench/kernels/elementwise.hpp"
#include "calibration/microbench/kernels/vectors.cuh"
#include "calibration/microbench/kernels/verify/formulas.hpp"

namespace packsim::microbench {
namespace {

constexpr int kForwardThreads = 256;
constexpr int kWideThreads = 1024;
constexpr int kBackwardThreads = 512;
constexpr int kBlocksPerMultiprocessor = 2;
constexpr int kSumThreads = 256;
constexpr int kSumRows = 8;

// A block a row, which it keeps in registers between the sum and the result: thread t has the pieces
// t, t + threads, ... of the row.
template <int kWidth, int kPieces>
__global__ void __launch_bounds__(kWideThreads, 1)
    forward_kernel(std::int64_t cols, const __nv_bfloat16* __restrict__ x,
                   const __nv_bfloat16* __restrict__ weight, __nv_bfloat16* __restrict__ y,
                   float* __restrict__ scale) {
  __shared__ float shared[33];
  const std::int64_t row = blockIdx.x;
  Values<kWidth> kept[kPieces];
  float sum = 0;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const std::int64_t col = (static_cast<std::int64_t>(piece) * blockDim.x + threadIdx.x) * kWidth;
    if (col < cols) {
      kept[piece] = load_values<kWidth>(x + row * cols + col);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sum += kept[piece].at[i] * kept[piece].at[i];
    }
  }
  const float row_scale = rsqrtf(block_sum(sum, shared) / static_cast<float>(cols) + kRmsNormEpsilon);
  if (threadIdx.x == 0) scale[row] = row_scale;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const std::int64_t col = (static_cast<std::int64_t>(piece) * blockDim.x + threadIdx.x) * kWidth;
    if (col < cols) {
      const Values<kWidth> w = load_values<kWidth>(weight + col);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) kept[piece].at[i] *= row_scale * w.at[i];
      store_values<kWidth>(y + row * cols + col, kept[piece]);
    }
  }
}

// A block takes every n-th row; a thread has the same columns in all of them, so that it sums the gradient of
// the weight in registers.
template <int kWidth, int kPieces>
__global__ void __launch_bounds__(kBackwardThreads)
    backward_kernel(std::int64_t rows, std::int64_t cols, const __nv_bfloat16* __restrict__ x,
                    const __nv_bfloat16* __restrict__ weight, const float* __restrict__ scale,
                    const __nv_bfloat16* __restrict__ y_gradient, __nv_bfloat16* __restrict__ x_gradient,
                    float* __restrict__ partial) {
  __shared__ float shared[33];
  Values<kWidth> weight_gradient[kPieces];
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) weight_gradient[piece].at[i] = 0;
  }
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float row_scale = scale[row];
    Values<kWidth> kept_x[kPieces];
    Values<kWidth> kept_gradient[kPieces];
    float sum = 0;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const std::int64_t col = (static_cast<std::int64_t>(piece) * blockDim.x + threadIdx.x) * kWidth;
      if (col < cols) {
        kept_x[piece] = load_values<kWidth>(x + row * cols + col);
        kept_gradient[piece] = load_values<kWidth>(y_gradient + row * cols + col);
        const Values<kWidth> w = load_values<kWidth>(weight + col);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
          sum += w.at[i] * kept_gradient[piece].at[i] * kept_x[piece].at[i];
          weight_gradient[piece].at[i] += kept_gradient[piece].at[i] * kept_x[piece].at[i] * row_scale;
        }
      }
    }
    const float mean_product = block_sum(sum, shared) / static_cast<float>(cols);
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const std::int64_t col = (static_cast<std::int64_t>(piece) * blockDim.x + threadIdx.x) * kWidth;
      if (col < cols) {
        const Values<kWidth> w = load_values<kWidth>(weight + col);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          kept_x[piece].at[i] = rms_norm_backward(kept_x[piece].at[i], w.at[i], kept_gradient[piece].at[i],
                                                  row_scale, mean_product);
        store_values<kWidth>(x_gradient + row * cols + col, kept_x[piece]);
      }
    }
  }
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const std::int64_t col = (static_cast<std::int64_t>(piece) * blockDim.x + threadIdx.x) * kWidth;
    if (col < cols) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) partial[blockIdx.x * cols + col + i] = weight_gradient[piece].at[i];
    }
  }
}

// Adds up the rows of partial sums: 32 columns a block, eight rows at a time.
__global__ void __launch_bounds__(kSumThreads)
    sum_partial_kernel(std::int64_t n_rows, std::int64_t cols, const float* __restrict__ partial,
                       float* __restrict__ weight_gradient) {
  __shared__ float shared[kSumRows][32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned group = threadIdx.x / 32;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (col < cols) {
    for (std::int64_t row = group; row < n_rows; row += kSumRows) sum += partial[row * cols + col];
  }
  shared[group][lane] = sum;
  __syncthreads();
  if (group == 0 && col < cols) {
    for (int i = 1; i < kSumRows; ++i) sum += shared[i][lane];
    weight_gradient[col] = sum;
  }
}

// Threads for so many pieces of a row: whole warps, no more than are of use.
unsigned threads_for(std::int64_t n_pieces, std::int64_t most) {
  return static_cast<unsigned>(std::min(most, ceil_div(n_pieces, 32) * 32));
}

// The smallest power of two of pieces a thread with which `threads` hold the row; calls run with it.
template <typename Run>
void with_pieces(std::int64_t n_pieces, std::int64_t threads, const Run& run) {
  const std::int64_t needed = ceil_div(n_pieces, threads);
  if (needed <= 1) {
    run(std::integral_constant<int, 1>());
  } else if (needed <= 2) {
    run(std::integral_constant<int, 2>());
  } else if (needed <= 4) {
    run(std::integral_constant<int, 4>());
  } else {
    throw Unavailable("rms_norm: too many columns for the kernel of this program");
  }
}

template <int kWidth>
void launch_forward(Shape shape, const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y,
                    float* scale, cudaStream_t stream) {
  const std::int64_t n_pieces = shape.cols / kWidth;
  const std::int64_t most = n_pieces <= 4 * kForwardThreads ? kForwardThreads : kWideThreads;
  with_pieces(n_pieces, most, [&](auto pieces) {
    forward_kernel<kWidth, decltype(pieces)::value>
        <<<grid_of(shape.rows), threads_for(n_pieces, most), 0, stream>>>(shape.cols, x, weight, y, scale);
  });
  check_cuda(cudaGetLastError(), "launch rms_norm forward");
}

template <int kWidth>
void launch_backward(Shape shape, const __nv_bfloat16* x, const __nv_bfloat16* weight, const float* scale,
                     const __nv_bfloat16* y_gradient, __nv_bfloat16* x_gradient, float* partial,
                     std::int64_t n_blocks, cudaStream_t stream) {
  const std::int64_t n_pieces = shape.cols / kWidth;
  with_pieces(n_pieces, kBackwardThreads, [&](auto pieces) {
    backward_kernel<kWidth, decltype(pieces)::value>
        <<<grid_of(n_blocks), threads_for(n_pieces, kBackwardThreads), 0, stream>>>(
            shape.rows, shape.cols, x, weight, scale, y_gradient, x_gradient, partial);
  });
  check_cuda(cudaGetLastError(), "launch rms_norm backward");
}

}  // namespace

void rms_norm_forward(Shape shape, const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y,
                      float* scale, cudaStream_t stream) {
  (shape.cols % 8 == 0 ? launch_forward<8> : launch_forward<1>)(shape, x, weight, y, scale, stream);
}

std::int64_t rms_norm_partial_rows(int n_multiprocessors) {
  return static_cast<std::int64_t>(n_multiprocessors) * kBlocksPerMultiprocessor;
}

void rms_norm_backward(Shape shape, const __nv_bfloat16* x, const __nv_bfloat16* weight, const float* scale,
                       const __nv_bfloat16* y_gradient, __nv_bfloat16* x_gradient, float* weight_gradient,
                       float* partial, int n_multiprocessors, cudaStream_t stream) {
  const std::int64_t n_blocks = std::min(shape.rows, rms_norm_partial_rows(n_multiprocessors));
  (shape.cols % 8 == 0 ? launch_backward<8> : launch_backward<1>)(shape, x, weight, scale, y_gradient,
                                                                  x_gradient, partial, n_blocks, stream);
  sum_partial_kernel<<<grid_of(ceil_div(shape.cols, 32)), kSumThreads, 0, stream>>>(n_blocks, shape.cols,
                                                                                    partial, weight_gradient);
  check_cuda(cudaGetLastError(), "launch rms_norm's sum");
}

}  // namespace packsim::microbench
