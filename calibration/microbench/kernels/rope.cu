#include <cuda_bf16.h>

#include "calibration/microbench/kernels/device.hpp"
#include "calibration/microbench/kernels/elementwise.hpp"
#include "calibration/microbench/kernels/vectors.cuh"
#include "calibration/microbench/kernels/verify/formulas.hpp"

namespace packsim::microbench {
namespace {

constexpr int kThreads = 256;
constexpr int kWidth = 8;

// A block a row; a thread turns eight pairs of one head: eight values of its first half with eight of the
// second.
__global__ void __launch_bounds__(kThreads)
    rope_kernel(std::int64_t cols, int half_dim, const __nv_bfloat16* __restrict__ x,
                const __nv_bfloat16* __restrict__ cosines, const __nv_bfloat16* __restrict__ sines,
                __nv_bfloat16* __restrict__ y, float direction) {
  const std::int64_t row = blockIdx.x;
  const auto pieces_per_row = static_cast<unsigned>(cols / (2 * kWidth));
  const unsigned pieces_per_half = static_cast<unsigned>(half_dim) / kWidth;
  for (unsigned piece = threadIdx.x; piece < pieces_per_row; piece += blockDim.x) {
    const std::int64_t in_half = piece % pieces_per_half * kWidth;
    const std::int64_t first =
        row * cols + static_cast<std::int64_t>(piece / pieces_per_half) * 2 * half_dim + in_half;
    Values<kWidth> a = load_values<kWidth>(x + first);
    Values<kWidth> b = load_values<kWidth>(x + first + half_dim);
    const Values<kWidth> cosine = load_values<kWidth>(cosines + row * half_dim + in_half);
    const Values<kWidth> sine = load_values<kWidth>(sines + row * half_dim + in_half);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const Pair<float> turned = rotate(a.at[i], b.at[i], cosine.at[i], direction * sine.at[i]);
      a.at[i] = turned.first;
      b.at[i] = turned.second;
    }
    store_values<kWidth>(y + first, a);
    store_values<kWidth>(y + first + half_dim, b);
  }
}

}  // namespace

std::int64_t rope_head_dim(std::int64_t cols) {
  if (cols % 128 == 0) return 128;
  if (cols % 64 == 0) return 64;
  throw Unavailable("rope: cols must be a multiple of the head's 64 or 128");
}

void rope(Shape shape, const __nv_bfloat16* x, const __nv_bfloat16* cosines, const __nv_bfloat16* sines,
          __nv_bfloat16* y, float direction, cudaStream_t stream) {
  const auto half_dim = static_cast<int>(rope_head_dim(shape.cols) / 2);
  // Whole warps, no more than a row has work for.
  const std::int64_t n_threads =
      std::min<std::int64_t>(kThreads, ceil_div(shape.cols / (2 * kWidth), 32) * 32);
  rope_kernel<<<grid_of(shape.rows), static_cast<unsigned>(n_threads), 0, stream>>>(
      shape.cols, half_dim, x, cosines, sines, y, direction);
  check_cuda(cudaGetLastError(), "launch rope");
}

}  // namespace packsim::microbench
