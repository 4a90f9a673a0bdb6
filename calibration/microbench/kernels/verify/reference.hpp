#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/kernels/documents.hpp"

/// What the kernels compute, slowly and in double: the truth that --verify compares with.
namespace packsim::microbench {

/// out[m, n] = left[m, k] right[k, n]; tn: right is stored [n, k]; nt: left is stored [k, m].
std::vector<double> reference_gemm(const std::vector<double>& left, const std::vector<double>& right,
                                   std::int64_t m, std::int64_t n, std::int64_t k, std::string_view layout);

struct ReferenceAttention {
  std::vector<double> out;    // [tokens, heads, head_dim]
  std::vector<double> stats;  // [tokens, heads]
  std::vector<double> query_gradient, key_gradient, value_gradient;
};
/// Causal attention over the documents of a pack. Arrays: [tokens, heads or kv_heads, head_dim].
ReferenceAttention reference_attention(const Documents& documents, std::int64_t n_heads,
                                       std::int64_t n_kv_heads, std::int64_t head_dim,
                                       const std::vector<double>& query, const std::vector<double>& key,
                                       const std::vector<double>& value,
                                       const std::vector<double>& out_gradient);

struct ReferenceRmsNorm {
  std::vector<double> y, scale, x_gradient, weight_gradient;
};
ReferenceRmsNorm reference_rms_norm(std::int64_t rows, std::int64_t cols, const std::vector<double>& x,
                                    const std::vector<double>& weight, const std::vector<double>& y_gradient,
                                    double epsilon);

struct ReferenceCrossEntropy {
  std::vector<double> losses, log_sums, gradient;
};
/// gradient: of the sum of the losses times `loss_gradient`.
ReferenceCrossEntropy reference_cross_entropy(std::int64_t rows, std::int64_t cols,
                                              const std::vector<double>& logits,
                                              const std::vector<std::int32_t>& targets, double loss_gradient);

}  // namespace packsim::microbench
