#include "calibration/microbench/core/obstacle.hpp"

namespace packsim::microbench {
namespace {

// Bytes that the arrays of a case take on a GPU at least.
double memory_bytes(const KernelCase& kernel) {
  const auto size = [&](std::string_view key) { return static_cast<double>(kernel.integer(key)); };
  if (kernel.kernel() == "gemm") return kernel_bytes(kernel);
  if (kernel.kernel() == "attention") {
    const double head_bytes = 2 * static_cast<double>(kernel.documents("docs").tokens()) * size("head_dim");
    const double forward_bytes = head_bytes * (2 * size("heads") + 2 * size("kv_heads"));
    return kernel.value("pass") == "bwd" ? 2 * forward_bytes : forward_bytes;
  }
  if (kernel.kernel() == "elementwise") return kernel_bytes(kernel);
  if (kernel.kernel() == "copy") return size("bytes") * (kernel.value("kind") == "device" ? 2 : 1);
  if (kernel.kernel() == "adamw") return 16 * size("parameters");
  if (kernel.kernel() == "collective" || kernel.kernel() == "overlap") return size("bytes");
  return 0;
}

std::string gib(double size_bytes) {
  return std::to_string(static_cast<std::int64_t>(size_bytes / (1 << 30) + 0.5)) + " GiB";
}

}  // namespace

std::string obstacle(const KernelCase& kernel, const MachineLimits& limits) {
  const std::string_view name = kernel.kernel();
  const bool is_collective = name == "collective" || name == "overlap";
  if (name == "step") return "is not measured by packsim_microbench";
  if (name == "gemm" && !kernel.value("dtype").starts_with("bf16"))
    return "of dtype " + kernel.value("dtype") + " is not measured by packsim_microbench";
  if (name == "gemm" && !limits.has_cublaslt) return "built without cuBLASLt";
  if (name == "attention" && !limits.has_cudnn) return "built without cuDNN";
  if (is_collective && !limits.has_nccl) return "built without NCCL";
  if (is_collective && limits.n_gpus > 0 && kernel.integer("gpus") > limits.n_gpus)
    return "needs " + kernel.value("gpus") + " GPUs, has " + std::to_string(limits.n_gpus);
  const double needed_bytes = memory_bytes(kernel);
  if (limits.memory_bytes > 0 && needed_bytes > static_cast<double>(limits.memory_bytes))
    return "needs " + gib(needed_bytes) + " of GPU memory, has " +
           gib(static_cast<double>(limits.memory_bytes));
  return "";
}

}  // namespace packsim::microbench
