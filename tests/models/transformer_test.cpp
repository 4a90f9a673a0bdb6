#include "models/transformer.hpp"

#include <catch2/catch.hpp>

#include "llama_8b.hpp"

using namespace packsim;

TEST_CASE("Work of LLaMA-3.1-8B by hand") {
  const Transformer& model = packsim_test::kLlama8b;
  // A layer: 2 x 4096^2 + 2 x 4096 x 1024 + 3 x 4096 x 14336 = 218 103 808 weights, and 2 x 4096 of the
  // norms.
  CHECK(model.layer_matmul_parameters() == 218103808);
  CHECK(model.parameters() == 32.0 * (218103808 + 8192) + 2.0 * 128256 * 4096 + 4096);
  CHECK(model.layers_flop_per_token() == 2.0 * 32 * 218103808);
  CHECK(model.head_flop_per_token() == 2.0 * 128256 * 4096);
  // Causal scores and values: 2 x 2 flop x 4096 / 2 a pair and layer.
  CHECK(model.attention_flop_per_pair() == 2.0 * 32 * 4096);
}
