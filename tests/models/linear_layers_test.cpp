#include "models/layers/linear_layers.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "expert_models.hpp"
#include "llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

std::string names_of(const std::vector<LinearLayer>& layers) {
  std::string names;
  for (const LinearLayer& layer : layers) names.append(names.empty() ? "" : " ").append(layer.name);
  return names;
}

std::string replicated_of(const std::vector<LinearLayer>& layers) {
  std::vector<LinearLayer> replicated;
  for (const LinearLayer& layer : layers) {
    if (layer.replicated) replicated.push_back(layer);
  }
  return names_of(replicated);
}

const LinearLayer& layer_of(const std::vector<LinearLayer>& layers, std::string_view name) {
  for (const LinearLayer& layer : layers) {
    if (layer.name == name) return layer;
  }
  throw std::out_of_range(std::string(name));
}

}  // namespace

TEST_CASE("Linear layers have the weights and the flop of the layer that they are of") {
  for (const Transformer& model : {kLlama8b, kDeepseekV2, kQwen3Moe, kTinyMixture, kTinyLatent}) {
    for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
      if (model.n_layers_of(kind) == 0) continue;
      CAPTURE(model.name, static_cast<int>(kind));
      double parameters = 0;
      double flop = 0;
      for (const LinearLayer& layer : linear_layers(model, kind)) {
        parameters += layer.parameters();
        flop += layer.flop_per_token();
      }
      CHECK(parameters == model.layer_matmul_parameters(kind));
      CHECK(flop == Approx(2 * model.active_layer_matmul_parameters(kind)).epsilon(1e-12));
    }
  }
}

TEST_CASE("Layers come in the order of the forward pass") {
  CHECK(names_of(linear_layers(kLlama8b)) == "q k v o gate up down");
  CHECK(names_of(linear_layers(kQwen3Moe)) == "q k v o router expert_gate expert_up expert_down");
  CHECK(names_of(linear_layers(kTinyMixture)) ==
        "q k v o router expert_gate expert_up expert_down shared_weight shared_gate shared_up shared_down");
  CHECK(names_of(linear_layers(kTinyMixture, LayerKind::dense)) == "q k v o gate up down");
  CHECK(names_of(linear_layers(kTinyLatent)) == "q kv_a kv_b o gate up down");
  CHECK(names_of(linear_layers(kDeepseekV2)) ==
        "q_a q_b kv_a kv_b o router expert_gate expert_up expert_down shared_gate shared_up shared_down");
}

TEST_CASE("Widths of DeepSeek-V2's latent attention, and what its experts see") {
  const std::vector<LinearLayer> layers = linear_layers(kDeepseekV2);
  CHECK(layer_of(layers, "kv_a").out == 512 + 64);
  CHECK(layer_of(layers, "kv_b").out == 128 * (128 + 128));
  CHECK(layer_of(layers, "kv_b").in == 512);
  CHECK(layer_of(layers, "o").in == 128 * 128);
  const LinearLayer& up = layer_of(layers, "expert_up");
  CHECK(up.copies == 160);
  CHECK(up.token_share() == 6.0 / 160);
  CHECK(layer_of(layers, "shared_up").copies == 1);
  CHECK(layer_of(layers, "shared_up").token_share() == 1);
}

TEST_CASE("Tensor parallelism leaves routers and latents whole, and splits o and down by input") {
  CHECK(replicated_of(linear_layers(kLlama8b)).empty());
  CHECK(replicated_of(linear_layers(kDeepseekV2)) == "q_a kv_a router");
  CHECK(replicated_of(linear_layers(kTinyMixture)) == "router shared_weight");
  for (const Transformer& model : {kLlama8b, kDeepseekV2, kTinyMixture}) {
    for (const LinearLayer& layer : linear_layers(model)) {
      CAPTURE(model.name, layer.name);
      CHECK(layer.splits_in == (layer.name == "o" || layer.name.ends_with("down")));
    }
  }
}

TEST_CASE("A dense model has no linear layers of experts") {
  CHECK_THROWS_AS(linear_layers(kLlama8b, LayerKind::expert), std::invalid_argument);
}
