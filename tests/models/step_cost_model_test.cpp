#include "models/step_cost_model.hpp"

#include <catch2/catch.hpp>

#include "llama_8b.hpp"

using namespace packsim;
using packsim_test::kLlama8b;

namespace {

// One layer, every width 2, rates of 1: work in flop and bytes reads as seconds.
const Transformer kTiny{.name = "tiny",
                        .source = "",
                        .n_layers = 1,
                        .hidden_size = 2,
                        .n_heads = 2,
                        .n_kv_heads = 1,
                        .head_dim = 1,
                        .ffn_size = 2,
                        .vocab_size = 5};

FrameworkProfile unit_profile() {
  FrameworkProfile profile;
  profile.linear_flop_per_s = 1;
  profile.attention_flop_per_s = 1;
  profile.intra_node_bytes_per_s = 1;
  profile.inter_node_bytes_per_s = 1;
  profile.micro_batch_s = 7;
  profile.iteration_s = 11;
  return profile;
}

}  // namespace

TEST_CASE("A micro-batch costs its flop and bytes over the profile's rates") {
  const Cluster cluster{.name = "", .source = "", .gpu = "", .nodes = 1, .gpus_per_node = 2};
  const StepCostModel model(kTiny, cluster, unit_profile());
  MicroBatch batch;
  batch.tokens = 8;
  batch.padded_tokens = 2;
  batch.computed_pairs = 40;

  // Layer weights: 2 h q + 2 h kv + 3 h ffn = 8 + 4 + 12 = 24, so 48 flop a token; head 2 x 5 x 2 = 20.
  // Without SP: 10 tokens x 3 x (48 + 20) = 2040. Attention: 2 x q = 4 flop a pair, 40 x 4 x 3.5 = 560.
  const MicroBatchTime alone = model.micro_batch(batch, {.sp_degree = 1, .gc_layers = 0});
  CHECK(alone.linear_s == Approx(2040));
  CHECK(alone.attention_s == Approx(560));
  CHECK(alone.recompute_s == 0);
  CHECK(alone.alltoall_s == 0);
  CHECK(alone.overhead_s == 7);
  CHECK(alone.total_s() == Approx(2607));

  // Over two GPUs with the layer checkpointed: half of everything, and the forward pass once more:
  // 5 x 48 + 20 x 4 = 320. All-to-all: 2 bytes x (2 q + 2 kv x 2 copies) = 16 a token, half of it leaves,
  // 5 tokens x 8 x (2 + 1) = 120.
  const MicroBatchTime pair = model.micro_batch(batch, {.sp_degree = 2, .gc_layers = 1});
  CHECK(pair.linear_s == Approx(1020));
  CHECK(pair.attention_s == Approx(280));
  CHECK(pair.recompute_s == Approx(320));
  CHECK(pair.alltoall_s == Approx(120));
  CHECK(model.iteration_s() == 11);
}

TEST_CASE("Ulysses moves 20 480 bytes a token and layer of LLaMA-8B, 24 576 at degree 16") {
  const Cluster cluster{.name = "", .source = "", .gpu = "", .nodes = 4, .gpus_per_node = 8};
  const auto per_layer = [&](int sp) {
    const AlltoallBytes bytes = ulysses_bytes_per_token(kLlama8b, cluster, sp);
    return (bytes.intra_node + bytes.inter_node) / 32 * sp / (sp - 1);  // back to what is sent and kept
  };
  CHECK(per_layer(2) == Approx(20480));
  CHECK(per_layer(8) == Approx(20480));
  CHECK(per_layer(16) == Approx(24576));  // 8 key-value heads, each on two GPUs

  // Degree 16 over nodes of 8: 7 of 16 parts stay in the node, 8 leave it, one stays on the GPU.
  const AlltoallBytes across = ulysses_bytes_per_token(kLlama8b, cluster, 16);
  CHECK(across.inter_node / across.intra_node == Approx(8.0 / 7.0));
  CHECK(ulysses_bytes_per_token(kLlama8b, cluster, 8).inter_node == 0);
  CHECK(ulysses_bytes_per_token(kLlama8b, cluster, 1).intra_node == 0);
}

TEST_CASE("SP degrees that cannot exist are refused with the reason") {
  const Cluster cluster{.name = "", .source = "", .gpu = "", .nodes = 4, .gpus_per_node = 8};
  for (const int sp : {1, 2, 4, 8, 16, 32}) CHECK(refuse_sp_degree(kLlama8b, cluster, sp).empty());
  CHECK(refuse_sp_degree(kLlama8b, cluster, 3) == "a divisor of the cluster's 32 GPUs");
  Transformer odd = kLlama8b;
  odd.n_heads = 28;
  odd.n_kv_heads = 4;
  CHECK(refuse_sp_degree(odd, cluster, 8) == "a divisor of the model's 28 attention heads");
  odd.n_heads = 24;
  odd.n_kv_heads = 3;
  CHECK(refuse_sp_degree(odd, cluster, 8) == "a divisor or a multiple of the model's 3 key-value heads");
  const Cluster six{.name = "", .source = "", .gpu = "", .nodes = 4, .gpus_per_node = 6};
  CHECK(refuse_sp_degree(kLlama8b, six, 4) == "a divisor or a multiple of the 6 GPUs of a node");
}
