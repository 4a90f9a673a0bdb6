#include "models/layers/layer_op.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/kernels/collectives.hpp"
#include "models/kernels/make_case.hpp"

namespace packsim {
namespace {

std::vector<CountedKernel> exchange_kernels(const LayerOp& op, std::string_view collective) {
  if (op.gpus == 1) return {};
  return {{collective_case(collective, op.gpus, op.nodes, op.bytes), op.count}};
}

void add_cast(std::vector<CountedKernel>& kernels, std::int64_t bytes, double count) {
  if (bytes > 0) kernels.push_back({copy_case("device", bytes), count});
}

std::vector<CountedKernel> linear_forward(const LayerOp& op) {
  std::vector<CountedKernel> kernels;
  add_cast(kernels, op.casts.input, 1);
  add_cast(kernels, op.casts.weight, op.count);
  kernels.push_back({forward_gemm(op.rows, op.out, op.in, op.dtype), op.count});
  return kernels;
}

std::vector<CountedKernel> linear_backward(const LayerOp& op) {
  std::vector<CountedKernel> kernels;
  add_cast(kernels, op.casts.gradient, op.count);
  add_cast(kernels, op.casts.weight, op.count);
  kernels.push_back({input_gradient_gemm(op.rows, op.out, op.in, op.dtype), op.count});
  if (!op.frozen) kernels.push_back({weight_gradient_gemm(op.rows, op.out, op.in, op.dtype), op.count});
  return kernels;
}

// A device copy reads and writes every byte.
std::vector<CountedKernel> elementwise_kernels(const LayerOp& op, bool is_forward) {
  const PassKernels* styled = op.style == nullptr ? nullptr : &op.style->of(is_forward);
  if (styled == nullptr || styled->bytes == 0)
    return {{elementwise_case(op.op, is_forward ? "fwd" : "bwd", op.rows, op.out), op.count}};
  const double moved_bytes = styled->bytes * static_cast<double>(op.rows) * static_cast<double>(op.out);
  const auto copied_bytes = std::max<std::int64_t>(1, std::llround(moved_bytes / styled->launches / 2));
  return {{copy_case("device", copied_bytes), styled->launches * op.count}};
}

std::vector<CountedKernel> kernels_of(const LayerOp& op, bool is_forward) {
  switch (op.kind) {
    case LayerOp::Kind::linear:
      return is_forward ? linear_forward(op) : linear_backward(op);
    case LayerOp::Kind::elementwise:
      return elementwise_kernels(op, is_forward);
    case LayerOp::Kind::copy:
      return {{copy_case("device", op.bytes), op.count}};
    case LayerOp::Kind::exchange:
      return exchange_kernels(op, is_forward ? op.op : collective_kind(op.op).gradient);
    case LayerOp::Kind::launches:
      return {};
    case LayerOp::Kind::attention:
      break;
  }
  throw std::logic_error("attention is priced by its documents");
}

}  // namespace

std::vector<CountedKernel> forward_kernels(const LayerOp& op) {
  return op.backward_only ? std::vector<CountedKernel>() : kernels_of(op, true);
}

std::vector<CountedKernel> backward_kernels(const LayerOp& op) {
  return kernels_of(op, false);
}

int nodes_of_group(int degree, int stride, int gpus_per_node) {
  return std::min(degree, (degree * stride + gpus_per_node - 1) / gpus_per_node);
}

}  // namespace packsim
