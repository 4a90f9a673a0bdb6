#include <algorithm>
#include <catch2/catch.hpp>

#include "models/layers/layer_ops.hpp"
#include "models/memory/activations.hpp"
#include "models/memory/peak_memory.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

ParallelPlan in_tiles(int mlp_tiles, int loss_tiles = 1) {
  return {.n_gpus = 8,
          .zero_stage = 3,
          .execution = {.kernels = &kFusedKernels},
          .mlp_tiles = mlp_tiles,
          .loss_tiles = loss_tiles};
}

}  // namespace

TEST_CASE("A tiled MLP keeps none of its tensors, and needs those of one part in the backward pass") {
  const auto of = [](int tiles) { return layer_activations(kLlama8b, in_tiles(tiles), LayerKind::dense); };
  // Fused: gate, up and the activated product, 2 bytes x 14336 each.
  const double tensors = 2.0 * 3 * 14336;
  CHECK(of(1).kept_bytes - of(4).kept_bytes == Approx(tensors));
  CHECK(of(4).checkpointed_bytes == of(1).checkpointed_bytes);
  // Beside the residual stream's gradient and the output's, of one of four parts: gradients of gate and up,
  // and the three tensors.
  CHECK(of(4).gradient_bytes == Approx(2.0 * 2 * 4096 + (2.0 * 2 * 14336 + tensors) / 4));
  CHECK(of(1).gradient_bytes == Approx(2.0 * 2 * 4096 + 2.0 * 2 * 14336));
  // Experts are not tiled.
  const auto experts = [](int tiles) {
    return layer_activations(kQwen3Moe, in_tiles(tiles), LayerKind::expert).kept_bytes;
  };
  CHECK(experts(4) == experts(1));
}

TEST_CASE("More tiles never need more memory") {
  Cluster cluster;
  const MemoryAssumptions assumptions{.logits_bytes_per_vocab_entry = 8};
  double last = peak_memory(kLlama8b, cluster, in_tiles(1), assumptions, 100'000).total_bytes();
  for (const int tiles : {2, 3, 8, 64}) {
    CAPTURE(tiles);
    const double next =
        peak_memory(kLlama8b, cluster, in_tiles(tiles, tiles), assumptions, 100'000).total_bytes();
    CHECK(next < last);
    last = next;
  }
}

TEST_CASE("A tiled MLP runs once more") {
  const auto again = [](int tiles, LayerKind kind = LayerKind::dense, const Transformer& model = kLlama8b) {
    double flop = 0;
    for (const LayerOp& op : tiled_mlp_again(model, in_tiles(tiles), 8, kind, 1000)) {
      CHECK(op.cause == Cause::recompute);
      if (op.kind == LayerOp::Kind::linear)
        flop += 2 * op.count * static_cast<double>(op.rows * op.out * op.in);
    }
    return flop;
  };
  CHECK(again(1) == 0);
  // Gate, up and down.
  CHECK(again(4) == 2.0 * 1000 * 3 * 4096 * 14336);
  CHECK(again(4, LayerKind::expert, kQwen3Moe) == 0);
}

TEST_CASE("Tiles are products of fewer rows, and no more of them than rows") {
  for (const int tiles : {1, 3, 64, 5000}) {
    CAPTURE(tiles);
    for (const LayerOp& op : layer_forward(kLlama8b, in_tiles(tiles), 8, LayerKind::dense, 1000)) {
      const bool is_mlp = op.kind == LayerOp::Kind::linear && (op.out == 14336 || op.in == 14336);
      if (!is_mlp) continue;
      const int n = std::min(tiles, 1000);
      CHECK(op.rows == (1000 + n - 1) / n);
      CHECK(op.count == (op.out == 14336 ? 2 * n : n));  // gate and up alike
    }
  }
}
