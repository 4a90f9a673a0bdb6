#include "models/transformer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "expert_models.hpp"
#include "llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

Transformer with_window(Transformer model, int window_tokens, int n_layers) {
  model.sliding_window_tokens = window_tokens;
  model.n_windowed_layers = n_layers;
  return model;
}

}  // namespace

TEST_CASE("Work of LLaMA-3.1-8B by hand") {
  const Transformer& model = kLlama8b;
  // A layer: 2 x 4096^2 + 2 x 4096 x 1024 + 3 x 4096 x 14336 = 218 103 808 weights, and 2 x 4096 of the
  // norms.
  CHECK(model.layer_matmul_parameters() == 218103808);
  CHECK(model.parameters() == 32.0 * (218103808 + 8192) + 2.0 * 128256 * 4096 + 4096);
  CHECK(model.layers_flop_per_token() == 2.0 * 32 * 218103808);
  CHECK(model.head_flop_per_token() == 2.0 * 128256 * 4096);
  // Causal scores and values: 2 x 2 flop x 4096 / 2 a pair and layer.
  CHECK(model.attention_flop_per_pair() == 2.0 * 32 * 4096);
}

TEST_CASE("A dense model has dense layers only, and every parameter is active") {
  CHECK(kLlama8b.n_layers_of(LayerKind::dense) == 32);
  CHECK(kLlama8b.n_layers_of(LayerKind::expert) == 0);
  CHECK(kLlama8b.main_kind() == LayerKind::dense);
  CHECK(kLlama8b.active_parameters() == kLlama8b.parameters());
}

TEST_CASE("Latent attention and experts of DeepSeek-V2 by hand") {
  const Transformer& model = kDeepseekV2;
  CHECK(model.n_layers_of(LayerKind::dense) == 1);
  CHECK(model.n_layers_of(LayerKind::expert) == 59);
  // q_a, q_b: 5120 x 1536 + 1536 x 128 x 192; kv_a: 5120 x (512 + 64); kv_b: 512 x 128 x (128 + 128);
  // o: 128 x 128 x 5120.
  const double attention =
      5120.0 * 1536 + 1536.0 * 128 * 192 + 5120.0 * 576 + 512.0 * 128 * 256 + 128.0 * 128 * 5120;
  CHECK(attention == 149225472);
  CHECK(model.layer_matmul_parameters(LayerKind::dense) == attention + 3.0 * 5120 * 12288);
  // A router of 160 outputs, 160 experts of 1536, shared experts of 3072.
  CHECK(model.layer_matmul_parameters(LayerKind::expert) ==
        attention + 5120.0 * 160 + 160 * 3.0 * 5120 * 1536 + 3.0 * 5120 * 3072);
  // Of these a token goes through the router, 6 experts and the shared ones.
  const double active = attention + 5120.0 * 160 + 6 * 3.0 * 5120 * 1536 + 3.0 * 5120 * 3072;
  CHECK(model.active_layer_matmul_parameters(LayerKind::expert) == active);
  CHECK(model.layers_flop_per_token() == 2 * (attention + 3.0 * 5120 * 12288) + 2 * 59 * active);
  // Norms: two of the hidden state, one of each latent.
  CHECK(model.layer_parameters(LayerKind::dense) - model.layer_matmul_parameters(LayerKind::dense) ==
        2 * 5120 + 1536 + 512);
  // As the files count them; 21 billion active, arXiv 2405.04434.
  CHECK(model.parameters() == 235741434880);
  CHECK(model.active_parameters() == Approx(21e9).epsilon(0.02));
  // Scores are 192 wide, values 128: (192 + 128) x 128 heads a squared token, 2 flop over half of it.
  CHECK(model.attention_flop_per_pair() == 60.0 * 128 * (192 + 128));
}

TEST_CASE("Experts and query-key norms of Qwen3-30B-A3B by hand") {
  const Transformer& model = kQwen3Moe;
  CHECK(model.n_layers_of(LayerKind::dense) == 0);
  CHECK(model.n_layers_of(LayerKind::expert) == 48);
  CHECK(model.main_kind() == LayerKind::expert);
  // q, o: 2 x 2048 x 4096; k, v: 2 x 2048 x 512; a router of 128 outputs; 128 experts of 768.
  const double attention = 2.0 * 2048 * 4096 + 2.0 * 2048 * 512;
  CHECK(model.layer_matmul_parameters() == attention + 2048.0 * 128 + 128 * 3.0 * 2048 * 768);
  // Two norms of the hidden state, one of 128 each for queries and keys.
  CHECK(model.layer_parameters() - model.layer_matmul_parameters() == 2 * 2048 + 2 * 128);
  CHECK(model.parameters() == 30532122624);
  // 120 of 128 experts are idle in each layer.
  CHECK(model.active_parameters() == 30532122624 - 48.0 * 120 * 3 * 2048 * 768);
  CHECK(model.active_parameters() == 3353032704);  // "3.3B activated", the model's page
}

TEST_CASE("Norms of outputs weigh one value each, for attention and for the MLP or experts") {
  for (const Transformer& model : {kLlama8b, kQwen3Moe}) {
    CAPTURE(model.name);
    Transformer normed = model;
    normed.output_norms = true;
    CHECK(normed.layer_parameters() - model.layer_parameters() == 2 * model.hidden_size);
    CHECK(normed.layers_flop_per_token() == model.layers_flop_per_token());
  }
}

TEST_CASE("Gates of shared experts, biases, and queries from the hidden state by hand") {
  // q, o: 2 x 16 x 16; k, v: 2 x 16 x 8; router 16 x 8; 8 experts of 3 x 16 x 6; shared 3 x 16 x 12; gate 16.
  CHECK(kTinyMixture.layer_matmul_parameters(LayerKind::expert) == 512 + 256 + 128 + 8 * 288 + 576 + 16);
  // Norms 2 x 16, biases 16 + 2 x 8.
  CHECK(kTinyMixture.layer_parameters(LayerKind::dense) == 512 + 256 + 3 * 16 * 24 + 32 + 32);
  // q: 16 x 24; kv_a: 16 x (8 + 2); kv_b: 8 x 4 x (4 + 3); o: 12 x 16; norms 2 x 16 + 8.
  CHECK(kTinyLatent.layer_parameters() == 384 + 160 + 224 + 192 + 3 * 16 * 24 + 40);
}

TEST_CASE("Causal pairs under a window are those that a token-by-token count finds") {
  for (std::int64_t window = 0; window <= 12; ++window) {
    double pairs = 0;
    for (std::int64_t n = 0; n <= 30; ++n) {
      if (n > 0) pairs += static_cast<double>(window == 0 ? n : std::min(n, window));
      CAPTURE(n, window);
      CHECK(causal_pairs(n, window) == pairs);
    }
  }
  // 131072 tokens under 4096: 4096 x 4097 / 2 + (131072 - 4096) x 4096.
  CHECK(causal_pairs(131072, 4096) == 528484352);
}

TEST_CASE("A window that holds the document changes nothing") {
  const Transformer model = with_window(kLlama8b, 4096, 32);
  for (const std::int64_t length : {0, 1, 100, 4096}) {
    CHECK(model.window_fraction(length) == 1);
    CHECK(model.attention_flop(length) == kLlama8b.attention_flop(length));
  }
  CHECK(kLlama8b.window_fraction(1 << 20) == 1);
  CHECK(kLlama8b.attention_flop(1000) == kLlama8b.attention_flop_per_pair() * 1e6);
}

TEST_CASE("Windowed layers compute their share of a longer document, the others all of it") {
  // 12 of 15 pairs are left of 5 tokens under a window of 3; 8 of 32 layers have it.
  const Transformer model = with_window(kLlama8b, 3, 8);
  CHECK(model.window_fraction(5) == Approx(12.0 / 15));
  CHECK(model.attention_flop(5) ==
        Approx(25 * kLlama8b.layer_attention_flop_per_pair() * (24 + 8 * 12.0 / 15)));
}
