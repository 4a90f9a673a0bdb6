#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "calibration/microbench/core/family.hpp"
#include "calibration/microbench/kernels/device.hpp"

namespace packsim::microbench {

struct GemmShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::string_view layout;      ///< tn, nn or nt
  bool adds_into_fp32 = false;  ///< the product is added to sums of fp32; otherwise it is written in bf16

  std::int64_t left_bytes() const { return 2 * m * k; }
  std::int64_t right_bytes() const { return 2 * k * n; }
  std::int64_t out_bytes() const { return (adds_into_fp32 ? 4 : 2) * m * n; }
};

/// cuBLASLt's product of bf16 matrices with fp32 sums, out[m, n] = left[m, k] right[k, n], all row-major as
/// PyTorch has them in a linear layer y[tokens, out] = x W[out, in]^T:
///
///     tn  forward                  left = x[m, k]            right = W, stored [n, k]
///     nn  gradient of x            left = dy[m, k]           right = W[k, n]
///     nt  gradient of W            left = dy, stored [k, m]  right = x[k, n]
///
/// Megatron adds gradients of weights to those of earlier micro-batches within the product: adds_into_fp32.
///
/// The letters are cuBLAS's, which sees the row-major product as the column-major right^T left^T. The
/// algorithm is the first that cuBLASLt's heuristic proposes for a workspace of 32 MiB, as in PyTorch.
class Gemm {
 public:
  /// Prepares the product on the GPU that is current. Throws Unavailable where the program was built without
  /// cuBLASLt or cuBLASLt has no algorithm, std::runtime_error where it fails.
  explicit Gemm(const GemmShape& shape);
  ~Gemm();
  Gemm(Gemm&&) noexcept;
  Gemm& operator=(Gemm&&) noexcept;

  /// Queues the product on the stream. Calls on several streams at once share the workspace, and must not be.
  void run(const void* left, const void* right, void* out, cudaStream_t stream) const;
  /// The algorithm's numbers, for the record.
  std::string algorithm() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Prepared prepare_gemm(const KernelCase& kernel, Device& device);
/// "cuBLASLt 13.1.0", or why there is none.
std::string gemm_standing(const Device* device);

}  // namespace packsim::microbench
