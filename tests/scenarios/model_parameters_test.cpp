#include <algorithm>
#include <catch2/catch.hpp>

#include "scenarios/loader/list_files.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

struct Published {
  std::string model;  // a shipped name, or a config.json of hf_configs
  double parameters = 0;
  /// False where the number is rounded, or of a few weights more than a model file can describe.
  bool is_exact = true;
};

// Totals of the safetensors files on huggingface.co; where those hold more than the model, what the paper
// says.
const std::vector<Published>& published() {
  static const std::vector<Published> rows = {
      {"llama3.1-8b", 8030261248},
      {"llama3.1-70b", 70553706496},
      {"llama3.1-405b", 405853388800},
      {"qwen2.5-7b", 7615616512},
      {"qwen2.5-14b", 14770033664},
      {"qwen2.5-32b", 32763876352},
      {"qwen2.5-72b", 72706203648},
      {"qwen3-30b-a3b", 30532122624},
      {"deepseek-v2", 235741434880},
      {"qwen3-8b", 8190735360},
      {"qwen3-32b", 32762123264},
      {"qwen3-235b-a22b", 235093634560},
      {"mistral-small-24b", 23572403200},
      {"mixtral-8x7b", 46702792704},
      {"mixtral-8x22b", 140620634112},
      {"phi-4", 14659507200},
      {"deepseek-v3", 671e9, false},  // arXiv 2412.19437
      // Without the 110468824832 - 106852251264 of the layer that
      // predicts further tokens.
      {"glm-4.5-air", 106852251264, false},
      {"gpt-oss-20b", 20914757184, false},
      {"gemma-3-27b", 27016e6, false},  // arXiv 2503.19786, table 1: 1416M + 25600M
      {"gpt-oss-120b", 116829156672, false},
      {"llama-2-7b.json", 6738415616},
      {"llama-3.2-1b.json", 1235814400},
      {"mistral-7b-v0.1.json", 7241732096},
      {"mistral-7b-v0.3.json", 7248023552},
      {"phi-3-mini-4k-instruct.json", 3821079552},
      {"phi-4.json", 14659507200},
      {"qwen2.5-0.5b.json", 494032768},
      {"qwen3-0.6b.json", 596049920},
      {"qwen3-8b.json", 8190735360},
      {"mixtral-8x7b-v0.1.json", 46702792704},
      {"qwen1.5-moe-a2.7b.json", 14315784192},
      {"qwen3-30b-a3b.json", 30532122624},
      {"deepseek-v2-lite.json", 15706484224},
      {"deepseek-v2.json", 235741434880},
      {"deepseek-v3.json", 671e9, false},
      {"gpt-oss-20b.json", 20914757184, false},
      {"glm-4.5-air.json", 106852251264, false},
      {"gemma-3-27b.json", 27016e6, false}};
  return rows;
}

Transformer shipped_model(const std::string& model) {
  const bool is_config = model.ends_with(".json");
  return load_model(is_config ? packsim_test::source_dir() + "/tests/scenarios/hf_configs/" + model : model,
                    packsim_test::kData);
}

}  // namespace

TEST_CASE("Every model has the published number of parameters, to 0.1 %") {
  for (const Published& row : published()) {
    CAPTURE(row.model);
    CHECK(shipped_model(row.model).parameters() == Approx(row.parameters).epsilon(0.001));
  }
}

TEST_CASE("Where the published number is of the weights that are counted, not one is missing") {
  for (const Published& row : published()) {
    if (!row.is_exact) continue;
    CAPTURE(row.model);
    CHECK(shipped_model(row.model).parameters() == row.parameters);
  }
}

TEST_CASE("Every shipped model is in the table of published numbers, and says the same") {
  const auto shipped = list_files(kModelFiles, packsim_test::kData);
  REQUIRE(shipped.size() >= 20);
  for (const ListedFile& file : shipped) {
    CAPTURE(file.name);
    const auto row = std::ranges::find(published(), file.name, &Published::model);
    REQUIRE(row != published().end());
    CHECK(shipped_model(file.name).published_parameters == row->parameters);
  }
}

TEST_CASE("A shipped model is the same as its config.json") {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"qwen3-8b", "qwen3-8b"},
      {"qwen3-30b-a3b", "qwen3-30b-a3b"},
      {"deepseek-v2", "deepseek-v2"},
      {"deepseek-v3", "deepseek-v3"},
      {"gpt-oss-20b", "gpt-oss-20b"},
      {"glm-4.5-air", "glm-4.5-air"},
      {"gemma-3-27b", "gemma-3-27b"},
      {"phi-4", "phi-4"},
      {"mixtral-8x7b", "mixtral-8x7b-v0.1"},
  };
  for (const auto& [name, config] : pairs) {
    CAPTURE(name);
    CHECK(shipped_model(name).has_sizes_of(shipped_model(config + ".json")));
  }
}
