// Models in which queries, keys and values are one matrix, and gate and up another.

#include <catch2/catch.hpp>

#include "models/layers/linear_layers.hpp"
#include "models/layers/trained_tensors.hpp"
#include "models/memory/activations.hpp"
#include "models/memory/weights.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/step/layer_op_sums.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

const Transformer kPhi3Mini{.name = "phi-3-mini",
                            .source = "",
                            .n_layers = 32,
                            .hidden_size = 3072,
                            .n_heads = 32,
                            .n_kv_heads = 32,
                            .head_dim = 96,
                            .ffn_size = 8192,
                            .vocab_size = 32064,
                            .fused_projections = true};

Transformer fused(Transformer model) {
  model.fused_projections = true;
  return model;
}

Transformer separate(Transformer model) {
  model.fused_projections = false;
  return model;
}

ParallelPlan tensor_parallel(int degree) {
  return {.n_gpus = 32, .tp_degree = degree};
}

}  // namespace

TEST_CASE("Phi-3-mini has four matrices in a layer, and its published number of parameters") {
  const std::vector<LinearLayer> layers = linear_layers(kPhi3Mini);
  REQUIRE(layers.size() == 4);
  CHECK(layers[0].name == "qkv");
  CHECK(layers[0].out == 3 * 32 * 96);
  CHECK(layers[1].name == "o");
  CHECK(layers[2].name == "gate_up");
  CHECK(layers[2].out == 2 * 8192);
  CHECK(layers[3].name == "down");
  CHECK(kPhi3Mini.parameters() == 3821079552);
  CHECK(kPhi3Mini.layers_flop_per_token() == separate(kPhi3Mini).layers_flop_per_token());
  // Four matrices and two norms; adapters are two matrices beside each of the four.
  CHECK(trained_tensors(kPhi3Mini, {}, LayerKind::dense) == 4 + 2);
  CHECK(trained_tensors(kPhi3Mini, {.lora_rank = 8}, LayerKind::dense) == 2 * 4);
}

TEST_CASE("A fused matrix has the biases of all that it makes") {
  Transformer model = fused(kLlama8b);
  model.qkv_bias = true;
  CHECK(model.parameters() - fused(kLlama8b).parameters() == 32.0 * 128 * (32 + 2 * 8));
}

TEST_CASE("Tensor parallelism splits fused matrices as it splits their parts") {
  for (const int degree : {1, 2, 4, 8, 16, 32}) {
    CAPTURE(degree);
    const ParallelPlan plan = tensor_parallel(degree);
    CHECK(layer_weights(fused(kLlama8b), plan, LayerKind::dense).dense ==
          layer_weights(kLlama8b, plan, LayerKind::dense).dense);
    CHECK(flop(forward(fused(kLlama8b), plan)) == flop(forward(kLlama8b, plan)));
  }
  // 32 GPUs for 8 key-value heads: each has a query head, and a key and a value head of 128.
  CHECK(linear_layers(fused(kLlama8b))[0].out_width().on_gpu(32) == 3 * 128);
}

TEST_CASE("A layer with fused matrices keeps what separate ones keep, but for copies of their inputs") {
  const auto kept = [](const Transformer& model, const ParallelPlan& plan) {
    return layer_activations(model, plan, LayerKind::dense).kept_bytes;
  };
  CHECK(kept(kPhi3Mini, {}) == kept(separate(kPhi3Mini), {}));
  // Under autocast each product keeps its input in bf16: 2 for the former 5.
  const ParallelPlan autocast{.execution = {.optimizer = &kAdamWFp32}};
  CHECK(kept(separate(kPhi3Mini), autocast) - kept(kPhi3Mini, autocast) == 3 * 2.0 * 3072);
  // The narrow tensors of 4 adapters for those of 7.
  const ParallelPlan lora{.lora_rank = 16};
  CHECK(kept(separate(kPhi3Mini), lora) - kept(kPhi3Mini, lora) == 3 * 2.0 * 16);
}

TEST_CASE("Adapters beside fused matrices are as wide as these") {
  // Rank 16 x (in + out) of qkv, o, gate_up and down.
  const double qkv = 3072 + 3 * 3072;
  const double others = (3072 + 3072) + (3072 + 2 * 8192) + (8192 + 3072);
  ParallelPlan plan{.lora_rank = 16};
  CHECK(layer_adapters(kPhi3Mini, plan, LayerKind::dense).dense == 16 * (qkv + others));
  plan.lora_targets.add(11);  // qkv_proj
  CHECK(layer_adapters(kPhi3Mini, plan, LayerKind::dense).dense == 16 * qkv);
  int n_adapters = 0;
  for (const LayerOp& op : forward(kPhi3Mini, plan))
    if (op.kind == LayerOp::Kind::linear && !op.frozen) ++n_adapters;
  CHECK(n_adapters == 2);
}
