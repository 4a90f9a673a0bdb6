// What eager code launches beside its products, norms, rotary embedding and activation.

#include <catch2/catch.hpp>

#include "models/styles/kernel_styles.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/step/layer_op_sums.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

struct Copies {
  double n = 0;
  double moved_bytes = 0;  // of one token
  bool operator==(const Copies&) const = default;
};

// Copies on the device that are no part of a product.
Copies copies_beside(const Ops& ops, const KernelsOfOp& kernels) {
  Copies copies;
  for (const LayerOp& op : ops) {
    if (op.kind != LayerOp::Kind::copy) continue;
    for (const CountedKernel& use : kernels(op)) {
      copies.n += use.count;
      copies.moved_bytes += use.count * kernel_bytes(use.kernel) / kTokens;
    }
  }
  return copies;
}

ParallelPlan plan_in(const KernelStyle& style, const OptimizerKind& optimizer = kAdamW) {
  ParallelPlan plan = plan_of(1, 1);
  plan.execution.kernels = &style;
  plan.execution.optimizer = &optimizer;
  return plan;
}

}  // namespace

TEST_CASE("Eager attention copies the gradients of queries and keys") {
  const Ops ops = forward(kLlama8b, plan_in(kEagerKernels));
  CHECK(copies_beside(ops, forward_kernels) == Copies{});
  // 8 bytes for each value of 32 query heads and of 8 heads of keys and as many of values.
  CHECK(copies_beside(ops, backward_kernels) == Copies{2, 8.0 * 128 * (32 + 2 * 8)});
  for (const KernelStyle* style : {&kMixedKernels, &kCompiledKernels, &kTransformerEngineKernels})
    CHECK(copies_beside(forward(kLlama8b, plan_in(*style)), backward_kernels) == Copies{});
}
