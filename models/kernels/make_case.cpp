#include "models/kernels/make_case.hpp"

namespace packsim {
namespace {

KernelCase gemm_case(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& layout,
                     std::string_view dtype) {
  return KernelCase::of(
      "gemm", {std::to_string(m), std::to_string(n), std::to_string(k), layout, "cold", std::string(dtype)});
}

}  // namespace

KernelCase forward_gemm(std::int64_t tokens, std::int64_t out, std::int64_t in, std::string_view dtype) {
  return gemm_case(tokens, out, in, "tn", dtype);
}

KernelCase input_gradient_gemm(std::int64_t tokens, std::int64_t out, std::int64_t in,
                               std::string_view dtype) {
  return gemm_case(tokens, in, out, "nn", dtype);
}

KernelCase weight_gradient_gemm(std::int64_t tokens, std::int64_t out, std::int64_t in,
                                std::string_view dtype) {
  return gemm_case(out, in, tokens, "nt", dtype);
}

KernelCase attention_case(std::string_view pass, const Documents& documents, int n_heads, int n_kv_heads,
                          int head_dim) {
  return KernelCase::of("attention", {std::string(pass), format_documents(documents), std::to_string(n_heads),
                                      std::to_string(n_kv_heads), std::to_string(head_dim)});
}

KernelCase elementwise_case(std::string_view op, std::string_view pass, std::int64_t rows,
                            std::int64_t cols) {
  return KernelCase::of("elementwise", {std::string(op), std::string(pass), std::to_string(rows),
                                        std::to_string(cols), "cold"});
}

KernelCase copy_case(std::string_view kind, std::int64_t size_bytes, std::string_view cache) {
  return KernelCase::of("copy", {std::string(kind), std::to_string(size_bytes), std::string(cache)});
}

KernelCase adamw_case(std::int64_t n_parameters) {
  return KernelCase::of("adamw", {std::to_string(n_parameters)});
}

KernelCase collective_case(std::string_view op, int n_gpus, int n_nodes, std::int64_t size_bytes,
                           const std::string& imbalance) {
  return KernelCase::of("collective", {std::string(op), std::to_string(n_gpus), std::to_string(n_nodes),
                                       std::to_string(size_bytes), imbalance});
}

}  // namespace packsim
