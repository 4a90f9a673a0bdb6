#include <catch2/catch.hpp>

#include "merged_json.hpp"
#include "messages.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "temp_folder.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

std::string fixture(const std::string& name) {
  return packsim_test::source_dir() + "/tests/scenarios/hf_configs/" + name + ".json";
}

std::vector<std::string> messages_for(const std::string& json) {
  const TempFolder folder;
  const std::string path = folder.write("config.json", json);
  std::vector<std::string> messages = messages_of([&] { load_model(path, {}); });
  for (std::string& message : messages) message = message.substr(message.find("config.json"));
  return messages;
}

Transformer model_of(const std::string& json) {
  const TempFolder folder;
  return load_model(folder.write("config.json", json), {});
}

// A small dense decoder, with other members in place of or besides its own.
std::string decoder_with(const std::string& members) {
  return merged_json(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
      "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 1000})",
                     members);
}

// Likewise with experts.
std::string qwen_moe_with(const std::string& members) {
  return merged_json(R"({"model_type": "qwen3_moe", "num_hidden_layers": 4, "hidden_size": 64,
      "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 1000,
      "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
      "shared_expert_intermediate_size": 64})",
                     members);
}

// Likewise with experts of gpt-oss.
std::string gpt_oss_with(const std::string& members) {
  return decoder_with(members + R"("model_type": "gpt_oss", "num_key_value_heads": 4,
      "num_local_experts": 4, "num_experts_per_tok": 2, )");
}

// Likewise with experts and latent attention.
std::string deepseek_with(const std::string& members) {
  return merged_json(R"({"model_type": "deepseek_v2", "num_hidden_layers": 4, "hidden_size": 64,
      "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 1000, "q_lora_rank": null,
      "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
      "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
      "first_k_dense_replace": 0})",
                     members);
}

}  // namespace

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
  CHECK(qwen3.qk_norm);
  CHECK_FALSE(qwen3.published_parameters.has_value());

  // Defaults of MistralConfig and Qwen3Config in transformers.
  const std::string heads = R"("num_key_value_heads": 2, "model_type": )";
  CHECK(model_of(decoder_with(heads + R"("mistral", )")).sliding_window_tokens == 4096);
  CHECK(model_of(decoder_with(heads + R"("qwen3", )")).head_dim == 128);
  CHECK(model_of(qwen_moe_with("")).head_dim == 16);
  CHECK(model_of(decoder_with(heads + R"("gemma3_text", )")).head_dim == 256);
  CHECK(model_of(gpt_oss_with("")).head_dim == 64);
  CHECK(model_of(gpt_oss_with("")).qkv_bias);
  CHECK_FALSE(model_of(gpt_oss_with("")).tied_embeddings);
  const Transformer gemma = load_model(fixture("gemma-3-27b"), {});
  CHECK(gemma.vocab_size == 262208);
  CHECK(gemma.tied_embeddings);
  CHECK(gemma.qk_norm);
  CHECK(gemma.output_norms);
  CHECK_FALSE(qwen3.output_norms);
  CHECK_FALSE(qwen3.fused_projections);
  CHECK(load_model(fixture("phi-3-mini-4k-instruct"), {}).fused_projections);
  const Transformer glm = load_model(fixture("glm-4.5-air"), {});
  CHECK(glm.qkv_bias);
  CHECK_FALSE(glm.qk_norm);
}

TEST_CASE("How many key-value heads a type has by default is not guessed") {
  CHECK(messages_for(decoder_with(R"("model_type": "mistral", )")) ==
        std::vector<std::string>{
            "config.json: /num_key_value_heads: expected integer in 1..16777216, got nothing"});
}

TEST_CASE("Experts are read as each model type spells them") {
  const Experts mixtral = load_model(fixture("mixtral-8x7b-v0.1"), {}).experts;
  CHECK(mixtral == Experts{.n_routed = 8, .per_token = 2, .ffn_size = 14336});
  const Experts qwen2 = load_model(fixture("qwen1.5-moe-a2.7b"), {}).experts;
  CHECK(qwen2 ==
        Experts{
            .n_routed = 60, .per_token = 4, .ffn_size = 1408, .shared_ffn_size = 5632, .shared_gate = true});
  const Transformer qwen3 = load_model(fixture("qwen3-30b-a3b"), {});
  CHECK(qwen3.experts == Experts{.n_routed = 128, .per_token = 8, .ffn_size = 768});
  CHECK(qwen3.qk_norm);
  CHECK(qwen3.head_dim == 128);
  const Experts gpt_oss = load_model(fixture("gpt-oss-20b"), {}).experts;
  CHECK(gpt_oss == Experts{.n_routed = 32, .per_token = 4, .ffn_size = 2880});
  // Two shared experts of 1536, as one of 3072.
  const Experts deepseek = load_model(fixture("deepseek-v2"), {}).experts;
  CHECK(deepseek == Experts{.n_routed = 160,
                            .per_token = 6,
                            .ffn_size = 1536,
                            .shared_ffn_size = 3072,
                            .n_dense_layers = 1,
                            .n_groups = 8,
                            .groups_per_token = 3});
}

TEST_CASE("Groups of experts are read where the router is limited to them") {
  const auto groups = [](const std::string& members) {
    const Experts experts = model_of(deepseek_with(members)).experts;
    return std::pair(experts.n_groups, experts.groups_per_token);
  };
  CHECK(groups("") == std::pair(1, 1));
  CHECK(groups(R"("n_group": 4, "topk_group": 2, )") == std::pair(4, 2));
  CHECK(groups(R"("n_group": 4, "topk_group": 2, "topk_method": "group_limited_greedy", )") ==
        std::pair(4, 2));
  CHECK(groups(R"("n_group": 4, "topk_group": 2, "topk_method": "greedy", )") == std::pair(1, 1));
  CHECK(groups(R"("n_group": null, "topk_group": null, )") == std::pair(1, 1));
  CHECK(messages_for(deepseek_with(R"("n_group": 3, "topk_group": 2, )")) ==
        std::vector<std::string>{
            "config.json: /n_group: expected a divisor of the 8 routed experts, got 3 (number)"});
  CHECK(load_model("deepseek-v2", packsim_test::kData).experts ==
        load_model(fixture("deepseek-v2"), {}).experts);
  CHECK(load_model("deepseek-v3", packsim_test::kData).experts ==
        load_model(fixture("deepseek-v3"), {}).experts);
}

TEST_CASE("GLM has norms of queries and keys where use_qk_norm says so, others by their type") {
  const std::string glm =
      R"("model_type": "glm4_moe", "num_key_value_heads": 4, "n_routed_experts": 4, "n_shared_experts": 1,
      "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1, )";
  CHECK(model_of(decoder_with(glm + R"("use_qk_norm": true, )")).qk_norm);
  CHECK_FALSE(model_of(decoder_with(glm)).qk_norm);
  CHECK_FALSE(model_of(decoder_with(R"("use_qk_norm": true, )")).qk_norm);
}

TEST_CASE("Latent attention is read, with the head dimension that it makes") {
  const Transformer v2 = load_model(fixture("deepseek-v2"), {});
  CHECK(v2.latent == LatentAttention{.q_lora_rank = 1536,
                                     .kv_lora_rank = 512,
                                     .qk_nope_head_dim = 128,
                                     .qk_rope_head_dim = 64,
                                     .v_head_dim = 128});
  CHECK(v2.head_dim == 192);
  const Transformer lite = load_model(fixture("deepseek-v2-lite"), {});
  CHECK(lite.latent.q_lora_rank == 0);
  CHECK(lite.head_dim == 192);  // not its key head_dim, 64
  CHECK_FALSE(lite.qkv_bias);
}

TEST_CASE("Active parameters are what the publishers say") {
  // arXiv 2401.04088: 13 billion; the pages of Qwen1.5-MoE-A2.7B and Qwen3-30B-A3B: 2.7 and 3.3;
  // arXiv 2405.04434 and 2412.19437: 21 and 37; arXiv 2508.10925: 3.61 without the embedding, which is
  // 201088 x 2880 = 0.58.
  const std::vector<std::pair<std::string, double>> published = {
      {"mixtral-8x7b-v0.1", 13e9}, {"qwen1.5-moe-a2.7b", 2.7e9}, {"qwen3-30b-a3b", 3.3e9},
      {"deepseek-v2", 21e9},       {"deepseek-v3", 37e9},        {"gpt-oss-20b", 3.61e9 + 0.58e9}};
  for (const auto& [name, active] : published) {
    CAPTURE(name);
    CHECK(load_model(fixture(name), {}).active_parameters() == Approx(active).epsilon(0.02));
  }
}

TEST_CASE("Sliding windows are read as each model type means them") {
  const auto windows = [](const std::string& type, const std::string& members) {
    const std::string all =
        R"("num_hidden_layers": 4, "num_key_value_heads": 4, "model_type": ")" + type + "\", " + members;
    const Transformer model = model_of(type.ends_with("moe") ? qwen_moe_with(all) : decoder_with(all));
    return std::pair(model.sliding_window_tokens, model.n_windowed_layers);
  };
  const std::pair kNone(0, 0);
  const std::string used = R"("sliding_window": 100, "use_sliding_window": true, )";
  const std::string types = R"("layer_types": ["sliding_attention", "full_attention", "sliding_attention",
      "sliding_attention"], )";

  CHECK(windows("mistral", R"("sliding_window": 100, )") == std::pair(100, 4));
  CHECK(windows("mistral", R"("sliding_window": null, )") == kNone);
  CHECK(windows("phi3", R"("sliding_window": 100, )") == std::pair(100, 4));
  CHECK(windows("phi3", "") == kNone);
  // Qwen writes a window down even where it is switched off; the first max_window_layers see everything.
  CHECK(windows("qwen2", R"("sliding_window": 100, )") == kNone);
  CHECK(windows("qwen2", used) == kNone);  // 28 of 4
  CHECK(windows("qwen2", used + R"("max_window_layers": 3, )") == std::pair(100, 1));
  CHECK(windows("qwen3", R"("use_sliding_window": true, "max_window_layers": 0, )") == std::pair(4096, 4));
  CHECK(windows("qwen2", used + types) == std::pair(100, 3));
  CHECK(windows("qwen3_moe", used) == std::pair(100, 4));
  CHECK(windows("qwen3_moe", R"("sliding_window": 100, )") == kNone);
  CHECK(windows("qwen2_moe", used + types) == std::pair(100, 3));
  // The last of every six has none, or of as many as the pattern says.
  CHECK(windows("gemma3_text", "") == std::pair(4096, 4));
  CHECK(windows("gemma3_text", R"("num_hidden_layers": 13, "sliding_window": 100, )") == std::pair(100, 11));
  CHECK(windows("gemma3_text", R"("sliding_window_pattern": 2, )") == std::pair(4096, 2));
  CHECK(windows("gemma3_text", types) == std::pair(4096, 3));
  CHECK(windows("gemma3_text", R"("sliding_window": null, )") == kNone);
  const auto of_gpt_oss = [](const std::string& members) {
    const Transformer model = model_of(gpt_oss_with(members));
    return std::pair(model.sliding_window_tokens, model.n_windowed_layers);
  };
  // Every second one, from the first on.
  CHECK(of_gpt_oss(R"("num_hidden_layers": 5, )") == std::pair(128, 3));
  CHECK(of_gpt_oss(R"("num_hidden_layers": 4, "sliding_window": 100, )") == std::pair(100, 2));
}

TEST_CASE("Dense layers come first, or the config is refused") {
  CHECK(model_of(qwen_moe_with("")).experts.n_dense_layers == 0);
  CHECK(model_of(qwen_moe_with(R"("mlp_only_layers": [1, 0], )")).experts.n_dense_layers == 2);
  CHECK(model_of(qwen_moe_with(R"("decoder_sparse_step": 4, )")).experts.n_dense_layers == 3);
  // Layer 3 alone had experts, and no more.
  CHECK(model_of(qwen_moe_with(R"("decoder_sparse_step": 4, "mlp_only_layers": [3], )")).experts ==
        Experts{});
  const std::string expected =
      "expected dense layers at the start only: others between experts are not modelled";
  CHECK(messages_for(qwen_moe_with(R"("decoder_sparse_step": 2, )")) ==
        std::vector<std::string>{"config.json: /decoder_sparse_step: " + expected + ", got 2 (number)"});
  CHECK(messages_for(qwen_moe_with(R"("mlp_only_layers": [3], )")) ==
        std::vector<std::string>{"config.json: /mlp_only_layers: " + expected + ", got [3] (array)"});
  CHECK(messages_for(qwen_moe_with(R"("mlp_only_layers": [4], )")) ==
        std::vector<std::string>{
            "config.json: /mlp_only_layers: expected array of integers in 0..3, got [4] (array)"});
  CHECK(messages_for(deepseek_with(R"("first_k_dense_replace": 1, "moe_layer_freq": 2, )")) ==
        std::vector<std::string>{"config.json: /moe_layer_freq: " + expected + ", got 2 (number)"});
  CHECK(model_of(deepseek_with(R"("first_k_dense_replace": 2, "moe_layer_freq": 1, )"))
            .experts.n_dense_layers == 2);
}

TEST_CASE("A DeepSeek without routed experts is dense, and has its latent all the same") {
  const Transformer model =
      model_of(deepseek_with(R"("n_routed_experts": null, "n_shared_experts": null, )"));
  CHECK_FALSE(model.has_experts());
  CHECK(model.has_latent_attention());
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

TEST_CASE("What a type does not have, or is not modelled, is refused with the key that says so") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("num_local_experts": 8, )",
       "config.json: /num_local_experts: expected none: llama has no experts of that name, got 8 (number)"},
      {R"("num_experts": 8, )",
       "config.json: /num_experts: expected none: llama has no experts of that name, got 8 (number)"},
      {R"("n_routed_experts": 160, )",
       "config.json: /n_routed_experts: expected none: llama has no experts of that name, got 160 (number)"},
      {R"("moe_intermediate_size": 32, )",
       "config.json: /moe_intermediate_size: expected none: llama has no experts of that name, got 32 "
       "(number)"},
      {R"("kv_lora_rank": 512, )",
       "config.json: /kv_lora_rank: expected none: llama has no latent attention, got 512 (number)"},
      {R"("is_encoder_decoder": true, )",
       "config.json: /is_encoder_decoder: expected none: encoder-decoders are not modelled, got true "
       "(boolean)"},
      {R"("mlp_bias": true, )",
       "config.json: /mlp_bias: expected none: biases of the MLP are not modelled, got true (boolean)"},
      {R"("attn_logit_softcapping": 50.0, )",
       "config.json: /attn_logit_softcapping: expected none: capped scores are not modelled, got 50.0 "
       "(number)"},
      {R"("final_logit_softcapping": 30.0, )",
       "config.json: /final_logit_softcapping: expected none: capped scores are not modelled, got 30.0 "
       "(number)"},
      {R"("use_bidirectional_attention": true, )",
       "config.json: /use_bidirectional_attention: expected none: attention to later tokens is not "
       "modelled, got true (boolean)"},
      {R"("sliding_window": 4096, )",
       "config.json: /sliding_window: expected none: llama has no sliding windows, got 4096 (number)"},
      {R"("sliding_window": 4096, "use_sliding_window": true, )",
       "config.json: /sliding_window: expected none: llama has no sliding windows, got 4096 (number)"},
      {R"("layer_types": ["full_attention", "linear_attention"], )",
       "config.json: /layer_types: expected full_attention or sliding_attention: other kinds are not "
       "modelled, got \"linear_attention\" (string)"},
      {R"("layer_types": ["full_attention", "sliding_attention"], )",
       "config.json: /layer_types: expected full_attention in every layer without a sliding_window, got "
       "\"sliding_attention\" (string)"},
      {R"("layer_types": ["full_attention"], )",
       "config.json: /layer_types: expected one type for each of the 2 layers, got 1 types"},
      {R"("text_config": {}, )",
       "config.json: /text_config: expected none: of models with several parts, give the text part alone, "
       "got a nested configuration"},
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

TEST_CASE("Experts and latents that cannot be are refused") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("num_experts_per_tok": 9, )",
       "config.json: /num_experts_per_tok: expected at most the 8 routed experts, got 9 (number)"},
      {R"("n_shared_experts": 10000000, )",
       "config.json: /n_shared_experts: expected a width of at most 16777216 together, got 10000000 "
       "(number)"},
      {R"("qk_rope_head_dim": 5, )",
       "config.json: /qk_rope_head_dim: expected even, as rotations turn pairs, got 5 (number)"},
      {R"("kv_lora_rank": null, )", "config.json: /kv_lora_rank: expected integer in 1..16777216, got null"},
      {R"("attention_bias": true, )",
       "config.json: /attention_bias: expected none: biases of latent attention are not modelled, got true "
       "(boolean)"},
      {R"("num_key_value_heads": 2, )",
       "config.json: /num_key_value_heads: expected the 4 heads, as latent attention has keys for each, got "
       "2 (number)"},
      {R"("sliding_window": 100, )",
       "config.json: /sliding_window: expected none: deepseek_v2 has no sliding windows, got 100 (number)"}};
  for (const auto& [members, message] : cases) {
    CAPTURE(members);
    CHECK(messages_for(deepseek_with(members)) == std::vector<std::string>{message});
  }
}

TEST_CASE("Which layers of a Qwen2-MoE have a window has to be said") {
  CHECK(
      messages_for(qwen_moe_with(R"("model_type": "qwen2_moe", "use_sliding_window": true, )")) ==
      std::vector<std::string>{"config.json: /layer_types: expected a list, as use_sliding_window alone does "
                               "not say which layers of qwen2_moe have a window, got nothing"});
}

TEST_CASE("Model types with other layers are refused with the reason") {
  const auto refusal = [](const std::string& type) {
    return messages_for(decoder_with(R"("model_type": ")" + type + "\", "));
  };
  CHECK(refusal("gemma2") ==
        std::vector<std::string>{"config.json: /model_type: expected another type, as its scores are capped, "
                                 "got \"gemma2\" (string)"});
  CHECK(refusal("gemma3") ==
        std::vector<std::string>{
            "config.json: /model_type: expected another type, as it reads images too: its text part is of "
            "type gemma3_text, got \"gemma3\" (string)"});
}

TEST_CASE("All mistakes of a config.json are reported at once") {
  CHECK(messages_for(R"({"model_type": "mixtral", "n_routed_experts": 8, "hidden_size": "64",
                         "num_hidden_layers": 2, "num_attention_heads": 0, "num_key_value_heads": null})") ==
        std::vector<std::string>{
            "config.json: /n_routed_experts: expected none: mixtral has no experts of that name, got 8 "
            "(number)",
            "config.json: /hidden_size: expected integer in 1..16777216, got \"64\" (string)",
            "config.json: /num_attention_heads: expected integer in 1..16777216, got 0 (number)",
            "config.json: /intermediate_size: expected integer in 1..16777216, got nothing",
            "config.json: /vocab_size: expected integer in 1..16777216, got nothing",
            "config.json: /num_local_experts: expected integer in 1..65536, got nothing",
            "config.json: /num_experts_per_tok: expected integer in 1..65536, got nothing"});
  CHECK(
      messages_for(R"({"model_type": "bert", "num_local_experts": 8, "hidden_size": "64",
                         "num_attention_heads": 0})") ==
      std::vector<std::string>{
          "config.json: /model_type: expected one of llama, mistral, phi3, qwen2, qwen3, mixtral, qwen2_moe, "
          "qwen3_moe, deepseek_v2, deepseek_v3, glm4_moe, gpt_oss, gemma3_text, got \"bert\" (string)",
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
