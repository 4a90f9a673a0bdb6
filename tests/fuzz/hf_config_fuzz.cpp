// Any bytes as a model file or a Hugging Face config.json: the sizes of an accepted one are those of the
// file, and its parameters can be counted.

#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/loader/load_scenario.hpp"
#include "tests/fuzz/input_file.hpp"

namespace {

using packsim::testing::expect;

void check_sizes(const nlohmann::json& root, const packsim::Transformer& model) {
  const bool is_hf = !root.contains("format");
  expect(root[is_hf ? "num_hidden_layers" : "layers"] == model.n_layers, "layers");
  expect(root["hidden_size"] == model.hidden_size, "hidden size");
  expect(root[is_hf ? "num_attention_heads" : "heads"] == model.n_heads, "heads");
  const char* kv_heads = is_hf ? "num_key_value_heads" : "kv_heads";
  if (root.contains(kv_heads) && !root[kv_heads].is_null())
    expect(root[kv_heads] == model.n_kv_heads, "heads of keys and values");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  static const packsim::testing::InputFile file;
  file.write(data, n_bytes);
  packsim::Transformer model;
  try {
    model = packsim::load_model(file.path(), {});
  } catch (const packsim::ScenarioError& error) {
    packsim::testing::check_messages(error);
    return 0;
  }
  std::string_view text(reinterpret_cast<const char*>(data), n_bytes);
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  check_sizes(nlohmann::json::parse(text), model);
  expect(model.n_layers > 0 && model.n_heads > 0 && model.head_dim > 0, "sizes are above 0");
  expect(model.n_kv_heads > 0 && model.n_heads % model.n_kv_heads == 0, "heads share keys and values");
  expect(std::isfinite(model.parameters()) && model.parameters() > 0, "parameters can be counted");
  expect(model.active_parameters() > 0 && model.layers_flop_per_token() > 0, "a token has work");
  expect(model.n_windowed_layers >= 0 && model.n_windowed_layers <= model.n_layers, "layers with windows");
  expect(model.experts.n_dense_layers >= 0 && model.experts.n_dense_layers <= model.n_layers, "dense layers");
  expect(model.experts.per_token <= model.experts.n_routed, "a token's experts exist");
  return 0;
}
