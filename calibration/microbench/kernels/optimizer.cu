#include <cmath>
#include <memory>
#include <string>

#include "calibration/microbench/kernels/optimizer.hpp"
#include "calibration/microbench/kernels/sampler.hpp"
#include "calibration/microbench/kernels/vectors.cuh"

namespace packsim::microbench {
namespace {

constexpr int kThreads = 256;
constexpr int kWidth = 4;  // floats in 16 bytes

// A thread has four neighbouring parameters.
__global__ void __launch_bounds__(kThreads)
    adamw_kernel(std::int64_t n, const __nv_bfloat16* __restrict__ gradients,
                 __nv_bfloat16* __restrict__ weights, float* __restrict__ master, float* __restrict__ means,
                 float* __restrict__ squares, AdamW<float> constants) {
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (at + kWidth <= n) {
    const uint2 raw = *reinterpret_cast<const uint2*>(gradients + at);
    float4 w = *reinterpret_cast<const float4*>(master + at);
    float4 m = *reinterpret_cast<const float4*>(means + at);
    float4 v = *reinterpret_cast<const float4*>(squares + at);
    constants.update(__uint_as_float(raw.x << 16), w.x, m.x, v.x);
    constants.update(__uint_as_float(raw.x & 0xFFFF0000u), w.y, m.y, v.y);
    constants.update(__uint_as_float(raw.y << 16), w.z, m.z, v.z);
    constants.update(__uint_as_float(raw.y & 0xFFFF0000u), w.w, m.w, v.w);
    __stwb(reinterpret_cast<float4*>(master + at), w);
    __stwb(reinterpret_cast<float4*>(means + at), m);
    __stwb(reinterpret_cast<float4*>(squares + at), v);
    __stwb(reinterpret_cast<uint2*>(weights + at), make_uint2(packed(w.x, w.y), packed(w.z, w.w)));
    return;
  }
  for (std::int64_t i = at; i < n; ++i) {
    constants.update(__bfloat162float(gradients[i]), master[i], means[i], squares[i]);
    weights[i] = __float2bfloat16(master[i]);
  }
}

}  // namespace

AdamW<float> adamw_constants() {
  constexpr double kBeta1 = 0.9;
  constexpr double kBeta2 = 0.95;
  constexpr int kStep = 100;
  return {1e-5f,
          static_cast<float>(kBeta1),
          static_cast<float>(kBeta2),
          1e-8f,
          0.1f,
          static_cast<float>(1 / (1 - std::pow(kBeta1, kStep))),
          static_cast<float>(1 / (1 - std::pow(kBeta2, kStep)))};
}

void adamw(std::int64_t n, const __nv_bfloat16* gradients, __nv_bfloat16* weights, float* master,
           float* means, float* squares, const AdamW<float>& constants, cudaStream_t stream) {
  const std::int64_t n_blocks = ceil_div(n, static_cast<std::int64_t>(kThreads) * kWidth);
  adamw_kernel<<<grid_of(n_blocks), kThreads, 0, stream>>>(n, gradients, weights, master, means, squares,
                                                           constants);
  check_cuda(cudaGetLastError(), "launch adamw");
}

Prepared prepare_adamw(const KernelCase& kernel, Device& device) {
  const std::int64_t n = kernel.integer("parameters");
  if (n > (std::int64_t{1} << 40)) throw Unavailable("larger than any GPU's memory");
  const cudaStream_t stream = device.stream();
  enum { gradients, weights, master, means, squares };
  // Always cold: between two optimizer steps lies a whole iteration.
  const auto o =
      std::make_shared<Operands>(device, std::vector<std::int64_t>{2 * n, 2 * n, 4 * n, 4 * n, 4 * n}, true);
  o->fill_bf16(gradients, 1e-3f, stream);
  o->fill_fp32(master, 1, false, stream);
  o->fill_fp32(means, 1e-3f, false, stream);
  o->fill_fp32(squares, 1e-6f, true, stream);
  const AdamW<float> constants = adamw_constants();
  return timed_by_sampler(device, "packsim",
                          [=](std::int64_t i) {
                            adamw(n, o->get<__nv_bfloat16>(i, gradients), o->get<__nv_bfloat16>(i, weights),
                                  o->get<float>(i, master), o->get<float>(i, means),
                                  o->get<float>(i, squares), constants, stream);
                          },
                          o, {{"copies", std::to_string(o->n_copies())}});
}

}  // namespace packsim::microbench
