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

TEST_CASE("Eager code sums up the gradient of each bias, and casts biases under autocast") {
  Transformer model = kLlama8b;
  model.qkv_bias = true;
  const auto added = [&](const ParallelPlan& plan, const KernelsOfOp& kernels) {
    const Copies with = copies_beside(forward(model, plan), kernels);
    const Copies without = copies_beside(forward(kLlama8b, plan), kernels);
    return Copies{with.n - without.n, with.moved_bytes - without.moved_bytes};
  };
  // Of queries, keys and values: gradients of 2 bytes are read, and casts move 6 bytes of each bias.
  constexpr double kOutputs = 128 * (32 + 2 * 8);
  CHECK(added(plan_in(kEagerKernels), forward_kernels) == Copies{});
  CHECK(added(plan_in(kEagerKernels), backward_kernels) == Copies{3, 2 * kOutputs});
  const ParallelPlan autocast = plan_in(kEagerKernels, kAdamWFp32);
  CHECK(added(autocast, forward_kernels).n == 3);
  CHECK(added(autocast, forward_kernels).moved_bytes == Approx(6 * kOutputs / kTokens));
  CHECK(added(autocast, backward_kernels).n == 6);
  CHECK(added(autocast, backward_kernels).moved_bytes == Approx(2 * kOutputs + 6 * kOutputs / kTokens));
  // A checkpointed layer casts once more, and sums up nothing.
  const auto copied_again = [&](const Transformer& of) {
    return copies_beside(layer_recompute(of, autocast, 8, LayerKind::dense, kTokens), forward_kernels).n;
  };
  CHECK(copied_again(model) - copied_again(kLlama8b) == 3);
  // Adapters leave biases frozen; other styles sum them up in the product of the weight's gradient.
  ParallelPlan lora = plan_in(kEagerKernels);
  lora.lora_rank = 16;
  CHECK(added(lora, backward_kernels) == Copies{});
  for (const KernelStyle* style : {&kMixedKernels, &kCompiledKernels, &kTransformerEngineKernels})
    CHECK(added(plan_in(*style, kAdamWFp32), backward_kernels) == Copies{});
}

TEST_CASE("Eager code copies the slices of fused matrices, and joins their gradients") {
  const Transformer model = [] {
    Transformer fused = kLlama8b;
    fused.fused_projections = true;
    return fused;
  }();
  const auto moved = [&](const KernelStyle& style, const KernelsOfOp& kernels) {
    Copies slices;
    for (const LayerOp& op : forward(model, plan_in(style))) {
      if (op.op != "slices") continue;
      for (const CountedKernel& use : kernels(op)) {
        slices.n += use.count;
        slices.moved_bytes += use.count * kernel_bytes(use.kernel) / kTokens;
      }
    }
    return slices;
  };
  constexpr double kRotated = 128 * (32 + 8);
  constexpr double kHeads = kRotated + 128 * 8;
  constexpr double kGateAndUp = 2 * 14336;
  // Each of three slices is copied before attention, and two are joined with what is not rotated: 4 bytes a
  // value.
  CHECK(moved(kEagerKernels, forward_kernels) == Copies{3 + 2, 4 * kHeads + 4 * kRotated});
  // Of queries, keys and values: three times zeros of 2 bytes, a copy of 4, and two sums of 6. Of what is
  // rotated, zeros and a sum. Gate and up are joined.
  CHECK(moved(kEagerKernels, backward_kernels) ==
        Copies{8 + 2 * 2 + 1, 22 * kHeads + 8 * kRotated + 4 * kGateAndUp});
  CHECK(moved(kLigerKernels, forward_kernels) == Copies{3 + 2, 4 * kHeads + 4 * kGateAndUp});
  CHECK(moved(kLigerKernels, backward_kernels) == Copies{8 + 1, 22 * kHeads + 4 * kGateAndUp});
  for (const KernelStyle* style :
       {&kMixedKernels, &kCompiledKernels, &kTransformerEngineKernels, &kFusedKernels})
    CHECK(moved(*style, backward_kernels) == Copies{});
}

TEST_CASE("A tiled MLP that runs once more sums up no gradients") {
  for (const bool is_fused : {false, true}) {
    Transformer model = kLlama8b;
    model.fused_projections = is_fused;
    ParallelPlan plan = plan_in(kEagerKernels);
    plan.mlp_tiles = 4;
    for (const LayerOp& op : tiled_mlp_again(model, plan, 8, LayerKind::dense, kTokens))
      CHECK((op.kind == LayerOp::Kind::linear || op.op == "swiglu"));
  }
}
