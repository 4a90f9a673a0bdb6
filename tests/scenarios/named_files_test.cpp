#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "messages.hpp"
#include "packing/strategy.hpp"
#include "scenarios/loader/list_files.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/strategy_keys.hpp"
#include "temp_folder.hpp"

namespace packsim {
namespace {

using Messages = std::vector<std::string>;

const DataPaths kData{.root = PACKSIM_SOURCE_DIR};

}  // namespace

TEST_CASE("models, clusters and profiles load by name and by path") {
  CHECK(load_model("llama3.1-8b", kData).hidden_size == 4096);
  const std::string path = std::string(PACKSIM_SOURCE_DIR) + "/models/architectures/llama3.1-8b.json";
  CHECK(load_model(path, {.root = "/nowhere"}).name == "llama3.1-8b");
  CHECK(load_cluster_type("h100-sxm-80gb", kData).gpus_per_node == 8);
  CHECK(load_profile("deepspeed-ulysses-h100", kData).linear_flop_per_s > 1e12);
}

TEST_CASE("every shipped model, cluster and profile loads, and is called what its file is called") {
  for (const ListedFile& file : list_models(kData)) CHECK(load_model(file.name, kData).name == file.name);
  for (const ListedFile& file : list_clusters(kData))
    CHECK(load_cluster_type(file.name, kData).name == file.name);
  for (const ListedFile& file : list_profiles(kData)) CHECK(load_profile(file.name, kData).name == file.name);
}

TEST_CASE("every shipped scenario loads") {
  for (const ListedFile& file : list_scenarios(kData)) {
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

TEST_CASE("mistakes in a model file all come at once") {
  const TempFolder folder;
  const std::string path =
      folder.write("m.json", R"({"format": 1, "name": "m", "source": "made up", "layers": 2,
    "hidden_size": 64, "heads": 4, "kv_heads": 3, "head_dim": 16, "ffn_size": 128, "vocab_size": 100,
    "tied_embeddings": true, "qkv_bias": true, "published_parameters": 0, "biass": 1})");
  CHECK(messages_of([&] { load_model(path, kData); }) ==
        Messages{
            path + ": /kv_heads: expected a divisor of the 4 heads, got 3 (number)",
            path +
                ": /biass: expected no such key (known: format, name, source, layers, hidden_size, heads, "
                "kv_heads, head_dim, ffn_size, vocab_size, tied_embeddings, qkv_bias, published_parameters), "
                "got 1 (number)"});
}

TEST_CASE("lists are sorted by name and show the description or else the source") {
  const TempFolder root;
  root.write("calibration/profiles/b.json", R"({"name": "b", "source": "made up"})");
  root.write("calibration/profiles/a.json",
             R"({"name": "a", "source": "made up", "description": "the first"})");
  const std::vector<ListedFile> profiles = list_profiles({.root = root.path()});
  REQUIRE(profiles.size() == 2);
  CHECK(profiles[0].name == "a");
  CHECK(profiles[0].description == "the first");
  CHECK(profiles[0].path == root.path() + "/calibration/profiles/a.json");
  CHECK(profiles[1].name == "b");
  CHECK(profiles[1].description == "made up");
  CHECK(list_models({.root = root.path()}).empty());
}

TEST_CASE("a file that is no JSON object is named by the list") {
  const TempFolder root;
  const std::string path = root.write("scenarios/a.json", "[]");
  CHECK(messages_of([&] { list_scenarios({.root = root.path()}); }) ==
        Messages{path + ": top level: expected object, got [] (array)"});
}

TEST_CASE("a scenario can set every option that a strategy reads") {
  const std::vector<std::string_view> keys = option_keys();
  for (const Strategy& strategy : strategies()) {
    for (const std::string_view option : strategy.options) {
      INFO(strategy.name << " reads " << option);
      CHECK(std::ranges::find(keys, option) != keys.end());
    }
  }
}

}  // namespace packsim
