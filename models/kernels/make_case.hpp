#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/kernels/kernel_case.hpp"

namespace packsim {

// Kernel cases from typed values. Cold caches: in a training step a weight was last read a whole pass ago,
// and from some thousand tokens on the activations of one kernel are larger than the second-level cache (4096
// tokens x 4096 wide are 32 MiB, an H100 has 50), so little of what a kernel reads is still in it. For
// smaller micro-batches the truth lies between cold and hot.

/// The three matrix products of a linear layer y[tokens, out] = x[tokens, in] W[out, in]^T.
KernelCase forward_gemm(std::int64_t tokens, std::int64_t out, std::int64_t in,
                        std::string_view dtype = "bf16");
KernelCase input_gradient_gemm(std::int64_t tokens, std::int64_t out, std::int64_t in,
                               std::string_view dtype = "bf16");
KernelCase weight_gradient_gemm(std::int64_t tokens, std::int64_t out, std::int64_t in,
                                std::string_view dtype = "bf16");

KernelCase attention_case(std::string_view pass, const Documents& documents, int n_heads, int n_kv_heads,
                          int head_dim);
KernelCase elementwise_case(std::string_view op, std::string_view pass, std::int64_t rows, std::int64_t cols);
KernelCase copy_case(std::string_view kind, std::int64_t size_bytes, std::string_view cache = "cold");
KernelCase adamw_case(std::int64_t n_parameters);
KernelCase collective_case(std::string_view op, int n_gpus, int n_nodes, std::int64_t size_bytes,
                           const std::string& imbalance = "1");

}  // namespace packsim
