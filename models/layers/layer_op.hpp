#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/cause.hpp"
#include "models/kernels/kernel_case.hpp"
#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// One thing that a layer does on one GPU in its forward pass; what the backward pass does follows from it.
struct LayerOp {
  enum class Kind : std::uint8_t {
    linear,       ///< y[rows, out] = x[rows, in] W; backward: two products, one where the weight is frozen
    elementwise,  ///< op over rows x out; backward: one kernel
    copy,         ///< bytes reordered on the device; backward: the same
    exchange,     ///< collective op of bytes; backward: its transpose
    attention,    ///< over whole documents, whose lengths a layer does not know
  };
  Kind kind = Kind::linear;
  Cause cause = Cause::linear;
  double count = 1;  ///< equal ones, one after another
  std::int64_t rows = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;
  std::int64_t bytes = 0;    ///< of a copy; of an exchange as nccl-tests counts its payload
  std::string_view op = {};  ///< of elementwise and exchange
  int gpus = 1;              ///< of an exchange
  int nodes = 1;             ///< that those are on
  bool frozen = false;       ///< of linear: no gradient of the weight
};

/// A kernel and how often it runs.
struct CountedKernel {
  KernelCase kernel;
  double count = 1;
};

/// The kernels of an op, in their order. Not for attention.
std::vector<CountedKernel> forward_kernels(const LayerOp& op);
std::vector<CountedKernel> backward_kernels(const LayerOp& op);

/// Nodes that a group of `degree` GPUs lies on, each `stride` GPUs from the next.
int nodes_of_group(int degree, int stride, int gpus_per_node);

}  // namespace packsim
