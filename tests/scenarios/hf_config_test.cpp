#include <catch2/catch.hpp>

#include "messages.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/problems.hpp"
#include "temp_folder.hpp"

using namespace packsim;

namespace {

std::string fixture(const std::string& name) {
  return std::string(PACKSIM_TEST_DIR) + "/scenarios/hf_configs/" + name + ".json";
}

std::vector<std::string> messages_for(const std::string& json) {
  const TempFolder folder;
  const std::string path = folder.write("config.json", json);
  std::vector<std::string> messages = messages_of([&] { load_model(path, {}); });
  for (std::string& message : messages) message = message.substr(message.find("config.json"));
  return messages;
}

// A small dense decoder with other members in front; the first of two equal keys counts.
std::string decoder_with(const std::string& members) {
  return R"({"model_type": "llama", )" + members +
         R"("num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128,
            "vocab_size": 1000})";
}

}  // namespace

TEST_CASE("Parameter counts of published config.json files are the published ones") {
  // As the model cards and the safetensors indexes count them; Qwen3 has head-wise norms besides.
  const std::vector<std::pair<std::string, double>> published = {
      {"llama-2-7b", 6738415616.0},  {"llama-3.2-1b", 1235814400.0}, {"mistral-7b-v0.3", 7248023552.0},
      {"qwen2.5-0.5b", 494032768.0}, {"qwen3-0.6b", 596049920.0},    {"qwen3-8b", 8190735360.0}};
  for (const auto& [name, parameters] : published) {
    CAPTURE(name);
    const Transformer model = load_model(fixture(name), {});
    CHECK(model.parameters() == Approx(parameters).epsilon(1e-3));
    CHECK(model.name == name);
    CHECK(model.published_parameters == 0);
  }
}

TEST_CASE("Keys that a config.json leaves out have Hugging Face's defaults") {
  const Transformer llama2 = load_model(fixture("llama-2-7b"), {});
  CHECK(llama2.n_kv_heads == 32);  // as many as heads
  CHECK(llama2.head_dim == 128);   // 4096 / 32
  CHECK_FALSE(llama2.tied_embeddings);
  CHECK_FALSE(llama2.qkv_bias);
  CHECK(load_model(fixture("qwen2.5-0.5b"), {}).qkv_bias);  // no key says it
  const Transformer qwen3 = load_model(fixture("qwen3-0.6b"), {});
  CHECK(qwen3.head_dim == 128);  // not 1024 / 16
  CHECK(qwen3.tied_embeddings);
}

TEST_CASE("A config.json is called as it says, or as its folder") {
  const TempFolder folder;
  const std::string path = folder.write("my-model/config.json", decoder_with(""));
  CHECK(load_model(path, {}).name == "my-model");
  const std::string named =
      folder.write("config.json", decoder_with(R"("_name_or_path": "org/model one", )"));
  CHECK(load_model(named, {}).name == "org/model_one");
}

TEST_CASE("Null is as good as nothing") {
  CHECK(messages_for(decoder_with(R"("num_key_value_heads": null, "head_dim": null, "sliding_window": null,
      "num_experts": null, "kv_lora_rank": null, "attention_bias": null, )"))
            .empty());
}

TEST_CASE("What is no dense decoder is refused with the key that says so") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("num_local_experts": 8, )",
       "config.json: /num_local_experts: expected none: mixtures of experts are not modelled, got 8 "
       "(number)"},
      {R"("n_routed_experts": 160, )",
       "config.json: /n_routed_experts: expected none: mixtures of experts are not modelled, got 160 "
       "(number)"},
      {R"("kv_lora_rank": 512, )",
       "config.json: /kv_lora_rank: expected none: multi-head latent attention is not modelled, got 512 "
       "(number)"},
      {R"("is_encoder_decoder": true, )",
       "config.json: /is_encoder_decoder: expected none: encoder-decoders are not modelled, got true "
       "(boolean)"},
      {R"("sliding_window": 4096, )",
       "config.json: /sliding_window: expected none: sliding-window attention is not modelled, got 4096 "
       "(number)"},
      {R"("sliding_window": 4096, "use_sliding_window": true, )",
       "config.json: /sliding_window: expected none: sliding-window attention is not modelled, got 4096 "
       "(number)"},
      {R"("layer_types": ["full_attention", "sliding_attention"], )",
       "config.json: /layer_types: expected full_attention in every layer: other kinds are not modelled, got "
       "\"sliding_attention\" (string)"},
      {R"("hidden_act": "gelu", )",
       "config.json: /hidden_act: expected one of silu, swish, got \"gelu\" (string)"},
      {R"("num_key_value_heads": 3, )",
       "config.json: /num_key_value_heads: expected a divisor of the 4 heads, got 3 (number)"}};
  for (const auto& [members, message] : cases) {
    CAPTURE(members);
    CHECK(messages_for(decoder_with(members)) == std::vector<std::string>{message});
  }
  CHECK(messages_for(decoder_with(R"("sliding_window": 4096, "use_sliding_window": false, )")).empty());
}

TEST_CASE("All mistakes of a config.json are reported at once") {
  CHECK(
      messages_for(R"({"model_type": "mixtral", "num_local_experts": 8, "hidden_size": "64",
                         "num_attention_heads": 0})") ==
      std::vector<std::string>{
          "config.json: /num_local_experts: expected none: mixtures of experts are not modelled, got 8 "
          "(number)",
          "config.json: /model_type: expected one of llama, mistral, qwen2, qwen3, got \"mixtral\" (string)",
          "config.json: /num_hidden_layers: expected integer in 1..4096, got nothing",
          "config.json: /hidden_size: expected integer in 1..16777216, got \"64\" (string)",
          "config.json: /num_attention_heads: expected integer in 1..16777216, got 0 (number)",
          "config.json: /intermediate_size: expected integer in 1..16777216, got nothing",
          "config.json: /vocab_size: expected integer in 1..16777216, got nothing"});
}

TEST_CASE("A width that the heads do not share is refused unless a head_dim is given") {
  const std::string odd = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 66, HEAD
      "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 1000})";
  const auto with = [&](const std::string& head) {
    return std::string(odd).replace(odd.find("HEAD"), 4, head);
  };
  CHECK(messages_for(with("")) ==
        std::vector<std::string>{
            "config.json: /hidden_size: expected a multiple of the 4 heads, or a head_dim, got 66 (number)"});
  CHECK(messages_for(with(R"("head_dim": 16, )")).empty());
}

TEST_CASE("Files that are no JSON, or not there, say so") {
  CHECK(messages_for("{").size() == 1);
  CHECK(messages_for("[]").size() == 1);
  CHECK(messages_of([] { load_model("/nonexistent/config.json", {}); }) ==
        std::vector<std::string>{R"(model: expected a file, got "/nonexistent/config.json" (no such file))"});
}
