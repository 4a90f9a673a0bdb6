#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/cause.hpp"
#include "models/kernels/kernel_case.hpp"
#include "models/parallel_plan.hpp"
#include "models/styles/expert_style.hpp"
#include "models/styles/kernel_style.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Bytes of device copies that take as long as the conversion of a linear layer's operands to the number
/// format of its products. All 0 in bf16.
struct ProductCasts {
  std::int64_t input = 0;     ///< of its input, in the forward pass; 0 if an earlier layer has the same input
  std::int64_t weight = 0;    ///< of its weight, in each pass; 0 if that is done once a step
  std::int64_t gradient = 0;  ///< of the gradient of its output, in the backward pass
  bool operator==(const ProductCasts&) const = default;
};

/// One operation of a layer on one GPU in its forward pass. The backward pass follows from it.
struct LayerOp {
  enum class Kind : std::uint8_t {
    linear,       ///< y[rows, out] = x[rows, in] W; backward: two products, one where the weight is frozen
    elementwise,  ///< op over rows x out; backward: one kernel
    copy,         ///< bytes reordered on the device; backward: the same
    exchange,     ///< collective op of bytes; backward: its transpose
    attention,    ///< over whole documents, whose lengths a layer does not know
    launches,     ///< kernels that count for their launches alone
  };
  Kind kind = Kind::linear;
  Cause cause = Cause::linear;
  double count = 1;  ///< how many equal ones run one after another
  std::int64_t rows = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;
  std::int64_t bytes = 0;      ///< size of a copy, or payload of an exchange as nccl-tests counts it
  std::string_view op = {};    ///< name of an elementwise op or of a collective
  int gpus = 1;                ///< number of GPUs of an exchange
  int nodes = 1;               ///< nodes over which an exchange, or a copy for it, is spread
  int stride = 1;              ///< distance from one GPU of an exchange to the next
  bool is_exposed = false;     ///< exchange: no product hides any of it
  bool backward_only = false;  ///< the forward pass has none of it; not for linear and attention
  /// Elementwise: how the stack computes it; null: one fused kernel. It lives as long as the program.
  const PartStyle* style = nullptr;
  double per_launch = 1;   ///< how many of `count` one launch does: a grouped product does all experts'
  Launches launches = {};  ///< launches: how many, and at how many of them the host waits
  bool frozen = false;     ///< linear: its weight gets no gradient
  std::string_view dtype = "bf16";  ///< linear: the number format of its products
  ProductCasts casts = {};          ///< linear: of its products
};

/// A kernel and how often it runs.
struct CountedKernel {
  KernelCase kernel;
  double count = 1;
};

/// The kernels of an op, in their order. Not for attention. What a stack computes by several kernels is as
/// many copies on the device of what they move.
std::vector<CountedKernel> forward_kernels(const LayerOp& op);
std::vector<CountedKernel> backward_kernels(const LayerOp& op);

/// Nodes over which a group of `degree` GPUs is spread whose members are `stride` GPUs apart.
int nodes_of_group(int degree, int stride, int gpus_per_node);

}  // namespace packsim
