#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

/// Loads and stores of bf16 values as floats: 16 bytes a thread where rows allow it, one value where not.
namespace packsim::microbench {

template <int kWidth>
struct Values {
  float at[kWidth];
};

template <int kWidth>
__device__ inline Values<kWidth> load_values(const __nv_bfloat16* data) {
  Values<kWidth> values;
  if constexpr (kWidth == 8) {
    const uint4 raw = *reinterpret_cast<const uint4*>(data);
    const unsigned words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // A bf16 value is the upper half of a float.
      values.at[2 * i] = __uint_as_float(words[i] << 16);
      values.at[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000u);
    }
  } else {
    static_assert(kWidth == 1);
    values.at[0] = __bfloat162float(*data);
  }
  return values;
}

/// Two floats as bf16, the first in the lower half.
__device__ inline unsigned packed(float first, float second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  return static_cast<unsigned>(__bfloat16_as_ushort(pair.x)) |
         (static_cast<unsigned>(__bfloat16_as_ushort(pair.y)) << 16);
}

template <int kWidth>
__device__ inline void store_values(__nv_bfloat16* data, const Values<kWidth>& values) {
  if constexpr (kWidth == 8) {
    unsigned words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = packed(values.at[2 * i], values.at[2 * i + 1]);
    // Not an assignment, which the compiler may tear into four stores.
    __stwb(reinterpret_cast<uint4*>(data), make_uint4(words[0], words[1], words[2], words[3]));
  } else {
    *data = __float2bfloat16(values.at[0]);
  }
}

/// Sum over the block, for all threads. `shared`: 33 floats. Barriers before and after its use of them.
__device__ inline float block_sum(float value, float* shared) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const unsigned n_warps = blockDim.x / 32;
  __syncthreads();
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  if (warp == 0) {
    float sum = lane < n_warps ? shared[lane] : 0.0f;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
    if (lane == 0) shared[32] = sum;
  }
  __syncthreads();
  return shared[32];
}

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// A count of blocks or rows as the grid's first dimension, which ends at 2^31 - 1.
inline unsigned grid_of(std::int64_t n) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(n, 1, 2147483647));
}

}  // namespace packsim::microbench
