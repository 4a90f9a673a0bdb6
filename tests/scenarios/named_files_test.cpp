#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "merged_json.hpp"
#include "messages.hpp"
#include "packing/strategy.hpp"
#include "scenarios/loader/list_files.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/strategy_keys.hpp"
#include "temp_folder.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using Messages = std::vector<std::string>;

using packsim_test::kData;

}  // namespace

TEST_CASE("models, clusters and profiles load by name and by path") {
  CHECK(load_model("llama3.1-8b", kData).hidden_size == 4096);
  const std::string path = packsim_test::source_dir() + "/models/architectures/llama3.1-8b.json";
  CHECK(load_model(path, {.root = "/nowhere"}).name == "llama3.1-8b");
  CHECK(load_cluster_type("h100-sxm-80gb", kData).gpus_per_node == 8);
  CHECK(load_profile("deepspeed-ulysses-h100", kData).factors.linear_factor > 1);
}

TEST_CASE("every shipped model, cluster and profile loads, and is called what its file is called") {
  for (const ListedFile& file : list_files(kModelFiles, kData))
    CHECK(load_model(file.name, kData).name == file.name);
  for (const ListedFile& file : list_files(kClusterFiles, kData))
    CHECK(load_cluster_type(file.name, kData).name == file.name);
  for (const ListedFile& file : list_files(kProfileFiles, kData))
    CHECK(load_profile(file.name, kData).name == file.name);
}

TEST_CASE("every shipped scenario loads") {
  for (const ListedFile& file : list_files(kScenarioFiles, kData)) {
    INFO(file.path);
    CHECK(messages_of([&] { load_scenario(file.path, kData); }) == Messages{});
  }
}

TEST_CASE("an unknown name comes with the nearest one or all of them") {
  const TempFolder root;
  root.write("models/architectures/small.json", "{}");
  root.write("models/architectures/large.json", "{}");
  root.write("models/architectures/README.md", "");
  const DataPaths data{.root = root.path()};
  CHECK(messages_of([&] { load_model("smal", data); }) ==
        Messages{"model: expected the name of a model (did you mean small?) or the path of a .json file, got "
                 "\"smal\" "
                 "(string)"});
  CHECK(messages_of([&] { load_model("tiny", data); }) ==
        Messages{"model: expected the name of a model (known: large, small) or the path of a .json file, got "
                 "\"tiny\" "
                 "(string)"});
  CHECK(
      messages_of([&] { load_cluster_type("tiny", data); }) ==
      Messages{
          "cluster type: expected the name of a cluster type (known: none) or the path of a .json file, got "
          "\"tiny\" (string)"});
  CHECK(messages_of([&] { load_model("/no/such.json", data); }) ==
        Messages{"model: expected a file, got \"/no/such.json\" (no such file)"});
}

namespace {

std::string model_with(const std::string& members) {
  return merged_json(R"({"format": 1, "name": "m", "source": "made up", "layers": 2, "hidden_size": 64,
      "heads": 4, "kv_heads": 4, "head_dim": 16, "ffn_size": 128, "vocab_size": 100, "tied_embeddings": true,
      "qkv_bias": false, "published_parameters": 0})",
                     members);
}

Messages messages_for_model(const std::string& members) {
  const TempFolder folder;
  const std::string path = folder.write("m.json", model_with(members));
  Messages messages = messages_of([&] { load_model(path, kData); });
  for (std::string& message : messages) message = message.substr(path.size() + 2);
  return messages;
}

}  // namespace

TEST_CASE("mistakes in a model file all come at once") {
  CHECK(messages_for_model(R"("kv_heads": 3, "biass": 1, )") ==
        Messages{"/kv_heads: expected a divisor of the 4 heads, got 3 (number)",
                 "/biass: expected no such key (did you mean qkv_bias?), got 1 (number)"});
}

TEST_CASE("a model file says windows, latent attention and experts in objects of their own") {
  const TempFolder folder;
  const std::string path =
      folder.write("m.json", model_with(R"("head_dim": 12, "sliding_window": {"tokens": 100, "layers": 1},
          "latent_attention": {"kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6},
          "experts": {"routed": 8, "per_token": 2, "ffn_size": 32, "shared_ffn_size": 64, "shared_gate": true,
                      "dense_layers": 1, "groups": 4, "groups_per_token": 2}, )"));
  const Transformer model = load_model(path, kData);
  CHECK(model.sliding_window_tokens == 100);
  CHECK(model.n_windowed_layers == 1);
  CHECK(model.latent == LatentAttention{.q_lora_rank = 0,
                                        .kv_lora_rank = 16,
                                        .qk_nope_head_dim = 8,
                                        .qk_rope_head_dim = 4,
                                        .v_head_dim = 6});
  CHECK(model.experts == Experts{.n_routed = 8,
                                 .per_token = 2,
                                 .ffn_size = 32,
                                 .shared_ffn_size = 64,
                                 .shared_gate = true,
                                 .n_dense_layers = 1,
                                 .n_groups = 4,
                                 .groups_per_token = 2});
  CHECK_FALSE(load_model("llama3.1-8b", kData).qk_norm);
  CHECK_FALSE(load_model("llama3.1-8b", kData).output_norms);
  CHECK(load_model("gemma-3-27b", kData).output_norms);
  CHECK_FALSE(load_model("llama3.1-8b", kData).fused_projections);
  CHECK(load_model("phi-4", kData).fused_projections);
  CHECK(load_model("qwen3-30b-a3b", kData).qk_norm);
}

TEST_CASE("windows, latents and experts that cannot be are refused") {
  const std::string latent =
      R"("latent_attention": {"kv_lora_rank": 16, "qk_nope_head_dim": 8, "v_head_dim": 6, )";
  const std::string good_latent = R"("head_dim": 12, )" + latent + R"("qk_rope_head_dim": 4}, )";
  const std::string experts = R"("experts": {"routed": 8, "per_token": 2, "ffn_size": 32)";
  CHECK(messages_for_model(good_latent + experts + "}, ").empty());
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("sliding_window": 100, )", "/sliding_window: expected object, got 100 (number)"},
      {R"("sliding_window": {"tokens": 0, "layers": 1}, )",
       "/sliding_window/tokens: expected integer in 1..16777216, got 0 (number)"},
      {R"("sliding_window": {"tokens": 100, "layers": 3}, )",
       "/sliding_window/layers: expected integer in 1..2, got 3 (number)"},
      {R"("sliding_window": {"tokens": 100}, )",
       "/sliding_window/layers: expected integer in 1..2, got nothing"},
      {R"("sliding_window": {"tokens": 1, "layers": 1, "token": 2}, )",
       "/sliding_window/token: expected no such key (did you mean tokens?), got 2 (number)"},
      {R"("head_dim": 13, )" + latent + R"("qk_rope_head_dim": 5}, )",
       "/latent_attention/qk_rope_head_dim: expected even, as rotations turn pairs, got 5 (number)"},
      {R"("head_dim": 12, )" + latent + R"("qk_rope_head_dim": 0}, )",
       "/latent_attention/qk_rope_head_dim: expected integer in 2..16777216, got 0 (number)"},
      {latent + R"("qk_rope_head_dim": 4}, )",
       "/head_dim: expected 12, both parts of a query of latent attention, got 16 (number)"},
      {R"("kv_heads": 2, )" + good_latent,
       "/kv_heads: expected the 4 heads, as latent attention has keys for each, got 2 (number)"},
      {R"("qk_norm": true, )" + good_latent,
       "/qk_norm: expected false with latent attention, got true (boolean)"},
      {R"("qkv_bias": true, )" + good_latent,
       "/qkv_bias: expected false with latent attention, got true (boolean)"},
      {R"("fused_projections": true, )" + good_latent,
       "/fused_projections: expected false with latent attention, got true (boolean)"},
      {R"("fused_projections": true, )" + experts + "}, ",
       "/fused_projections: expected false with experts, got true (boolean)"},
      {experts + R"(, "dense_layers": 3}, )",
       "/experts/dense_layers: expected integer in 0..2, got 3 (number)"},
      {experts + R"(, "shared_gate": true}, )",
       "/experts/shared_gate: expected false without shared experts, got true (boolean)"},
      {R"("experts": {"routed": 8, "per_token": 9, "ffn_size": 32}, )",
       "/experts/per_token: expected at most the 8 routed experts, got 9 (number)"},
      {experts + R"(, "shared": 1}, )",
       "/experts/shared: expected no such key (did you mean shared_gate or shared_ffn_size?), got 1 "
       "(number)"},
      {experts + R"(, "groups": 3}, )",
       "/experts/groups: expected a divisor of the 8 routed experts, got 3 (number)"},
      {experts + R"(, "groups": 4, "groups_per_token": 5}, )",
       "/experts/groups_per_token: expected at most the 4 groups, got 5 (number)"},
      {experts + R"(, "groups": 8}, )",
       "/experts/groups_per_token: expected enough groups of 1 for the 2 experts of a token, got nothing"}};
  for (const auto& [members, message] : cases) {
    CAPTURE(members);
    CHECK(messages_for_model(members) == Messages{message});
  }
}

TEST_CASE("parts of a model are not held to layers that could not be read") {
  CHECK(messages_for_model(R"("layers": 0, "sliding_window": {"tokens": 100, "layers": 30}, )") ==
        Messages{"/layers: expected integer in 1..4096, got 0 (number)"});
}

TEST_CASE("lists are sorted by name and show the description or else the source") {
  const TempFolder root;
  root.write("calibration/profiles/b.json", R"({"name": "b", "source": "made up"})");
  root.write("calibration/profiles/a.json",
             R"({"name": "a", "source": "made up", "description": "the first"})");
  const std::vector<ListedFile> profiles = list_files(kProfileFiles, {.root = root.path()});
  REQUIRE(profiles.size() == 2);
  CHECK(profiles[0].name == "a");
  CHECK(profiles[0].description == "the first");
  CHECK(profiles[0].path == root.path() + "/calibration/profiles/a.json");
  CHECK(profiles[1].name == "b");
  CHECK(profiles[1].description == "made up");
  CHECK(list_files(kModelFiles, {.root = root.path()}).empty());
}

TEST_CASE("a file that is no JSON object is named by the list") {
  const TempFolder root;
  const std::string path = root.write("scenarios/a.json", "[]");
  CHECK(messages_of([&] { list_files(kScenarioFiles, {.root = root.path()}); }) ==
        Messages{path + ": top level: expected object, got [] (array)"});
}

}  // namespace packsim
