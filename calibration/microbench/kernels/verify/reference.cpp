#include "calibration/microbench/kernels/verify/reference.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/microbench/kernels/verify/formulas.hpp"

namespace packsim::microbench {

std::vector<double> reference_gemm(const std::vector<double>& left, const std::vector<double>& right,
                                   std::int64_t m, std::int64_t n, std::int64_t k, std::string_view layout) {
  std::vector<double> out(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += left[layout == "nt" ? l * m + i : i * k + l] * right[layout == "tn" ? j * k + l : l * n + j];
      out[i * n + j] = sum;
    }
  }
  return out;
}

ReferenceAttention reference_attention(const Documents& documents, std::int64_t n_heads,
                                       std::int64_t n_kv_heads, std::int64_t head_dim,
                                       const std::vector<double>& query, const std::vector<double>& key,
                                       const std::vector<double>& value,
                                       const std::vector<double>& out_gradient) {
  const std::vector<std::int32_t> starts = documents.cumulative_tokens();
  const auto n_tokens = static_cast<std::size_t>(documents.tokens());
  ReferenceAttention result;
  result.out.resize(query.size());
  result.stats.resize(n_tokens * n_heads);
  result.query_gradient.resize(query.size());
  result.key_gradient.resize(key.size());
  result.value_gradient.resize(key.size());
  const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
  for (std::size_t document = 0; document + 1 < starts.size(); ++document) {
    for (std::int64_t head = 0; head < n_heads; ++head) {
      const std::int64_t kv_head = head / (n_heads / n_kv_heads);
      for (std::int64_t row = starts[document]; row < starts[document + 1]; ++row) {
        const double* q = &query[(row * n_heads + head) * head_dim];
        const double* gradient = &out_gradient[(row * n_heads + head) * head_dim];
        double* out = &result.out[(row * n_heads + head) * head_dim];
        double* q_gradient = &result.query_gradient[(row * n_heads + head) * head_dim];
        const auto kv_offset = [&](std::int64_t col) { return (col * n_kv_heads + kv_head) * head_dim; };
        std::vector<double> scores;
        for (std::int64_t col = starts[document]; col <= row; ++col) {
          double sum = 0;
          for (std::int64_t d = 0; d < head_dim; ++d) sum += q[d] * key[kv_offset(col) + d];
          scores.push_back(scale * sum);
        }
        const double largest = *std::ranges::max_element(scores);
        double sum = 0;
        for (const double score : scores) sum += std::exp(score - largest);
        const double log_sum = largest + std::log(sum);
        result.stats[row * n_heads + head] = log_sum;
        for (std::size_t j = 0; j < scores.size(); ++j) {
          const double probability = std::exp(scores[j] - log_sum);
          const std::int64_t kv = kv_offset(starts[document] + static_cast<std::int64_t>(j));
          for (std::int64_t d = 0; d < head_dim; ++d) out[d] += probability * value[kv + d];
        }
        double out_product = 0;
        for (std::int64_t d = 0; d < head_dim; ++d) out_product += gradient[d] * out[d];
        for (std::size_t j = 0; j < scores.size(); ++j) {
          const double probability = std::exp(scores[j] - log_sum);
          const std::int64_t kv = kv_offset(starts[document] + static_cast<std::int64_t>(j));
          double probability_gradient = 0;
          for (std::int64_t d = 0; d < head_dim; ++d) probability_gradient += gradient[d] * value[kv + d];
          const double score_gradient = scale * probability * (probability_gradient - out_product);
          for (std::int64_t d = 0; d < head_dim; ++d) {
            q_gradient[d] += score_gradient * key[kv + d];
            result.key_gradient[kv + d] += score_gradient * q[d];
            result.value_gradient[kv + d] += probability * gradient[d];
          }
        }
      }
    }
  }
  return result;
}

ReferenceRmsNorm reference_rms_norm(std::int64_t rows, std::int64_t cols, const std::vector<double>& x,
                                    const std::vector<double>& weight, const std::vector<double>& y_gradient,
                                    double epsilon) {
  ReferenceRmsNorm result;
  result.y.resize(x.size());
  result.x_gradient.resize(x.size());
  result.weight_gradient.resize(static_cast<std::size_t>(cols));
  for (std::int64_t row = 0; row < rows; ++row) {
    double squares = 0;
    double products = 0;
    for (std::int64_t col = 0; col < cols; ++col) {
      const std::int64_t at = row * cols + col;
      squares += x[at] * x[at];
      products += weight[col] * y_gradient[at] * x[at];
    }
    const double scale = 1 / std::sqrt(squares / static_cast<double>(cols) + epsilon);
    result.scale.push_back(scale);
    for (std::int64_t col = 0; col < cols; ++col) {
      const std::int64_t at = row * cols + col;
      result.y[at] = x[at] * scale * weight[col];
      result.x_gradient[at] =
          rms_norm_backward(x[at], weight[col], y_gradient[at], scale, products / static_cast<double>(cols));
      result.weight_gradient[col] += y_gradient[at] * x[at] * scale;
    }
  }
  return result;
}

ReferenceCrossEntropy reference_cross_entropy(std::int64_t rows, std::int64_t cols,
                                              const std::vector<double>& logits,
                                              const std::vector<std::int32_t>& targets,
                                              double loss_gradient) {
  ReferenceCrossEntropy result;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* x = &logits[row * cols];
    const double largest = *std::max_element(x, x + cols);
    double sum = 0;
    for (std::int64_t col = 0; col < cols; ++col) sum += std::exp(x[col] - largest);
    const double log_sum = largest + std::log(sum);
    result.log_sums.push_back(log_sum);
    result.losses.push_back(log_sum - x[targets[row]]);
    for (std::int64_t col = 0; col < cols; ++col)
      result.gradient.push_back(cross_entropy_backward(x[col], log_sum, col == targets[row], loss_gradient));
  }
  return result;
}

}  // namespace packsim::microbench
