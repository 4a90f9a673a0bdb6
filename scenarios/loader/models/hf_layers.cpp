#include "scenarios/loader/models/hf_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/loader/models/model_limits.hpp"
#include "scenarios/loader/models/model_parts.hpp"

namespace packsim {
namespace {

// A size that may be null, which reads as 0.
int size_or_null(JsonReader& reader, std::string_view key) {
  const Json* value = reader.value(key);
  return value != nullptr && value->is_null() ? 0 : reader.integer(key, 1, kWidest);
}

// ---- windows

// The layers that layer_types calls sliding, -1 where it is not there.
int listed_windows(JsonReader& reader, int n_layers) {
  const Json* types = reader.value("layer_types");
  if (types == nullptr || !types->is_array()) return -1;
  const auto is_known = [](const Json& type) {
    return type == "full_attention" || type == "sliding_attention";
  };
  const auto other = std::ranges::find_if_not(*types, is_known);
  if (other != types->end()) {
    reader.refuse("layer_types", "full_attention or sliding_attention: other kinds are not modelled",
                  describe(*other));
  } else if (types->size() != static_cast<std::size_t>(n_layers)) {
    reader.refuse("layer_types", fmt::format("one type for each of the {} layers", n_layers),
                  fmt::format("{} types", types->size()));
  }
  return static_cast<int>(std::ranges::count(*types, Json("sliding_attention")));
}

// Number of layers with a window, for a config without layer_types.
int windows_by_rule(JsonReader& reader, const HfModelType& type, int n_layers) {
  switch (type.window) {
    case HfWindow::late_switched:
      return std::max(0, n_layers - reader.integer("max_window_layers", 0, kMostLayers, 28));
    case HfWindow::listed:
      reader.refuse(
          "layer_types",
          fmt::format("a list, as use_sliding_window alone does not say which layers of {} have a window",
                      type.name));
      return 0;
    case HfWindow::all_but_every:
      return n_layers - n_layers / reader.integer("sliding_window_pattern", 1, kMostLayers, type.full_every);
    default:
      return n_layers;
  }
}

// 0 where there is none.
int window_tokens(JsonReader& reader, const HfModelType& type) {
  const bool has_switch =
      type.window != HfWindow::none && type.window != HfWindow::all && type.window != HfWindow::all_but_every;
  const Json* is_used = reader.value("use_sliding_window");
  if (is_used == nullptr ? has_switch : !says_something(is_used)) return 0;
  const Json* tokens = reader.value("sliding_window");
  if (tokens == nullptr) return type.window_tokens;
  return says_something(tokens) ? reader.integer("sliding_window", 1, kWidest) : 0;
}

// ---- experts

// Number of dense layers at the start, or -1 if others are dense too.
int leading_dense_layers(const std::vector<bool>& is_dense) {
  const auto first_sparse = std::ranges::find(is_dense, false);
  const bool others_are_sparse = std::find(first_sparse, is_dense.end(), true) == is_dense.end();
  return others_are_sparse ? static_cast<int>(first_sparse - is_dense.begin()) : -1;
}

constexpr std::string_view kOnlyFirst =
    "dense layers at the start only: others between experts are not modelled";

int qwen_dense_layers(JsonReader& reader, int n_layers) {
  const int step = reader.integer("decoder_sparse_step", 1, kMostLayers, 1);
  std::vector<bool> is_dense(static_cast<std::size_t>(n_layers));
  for (std::size_t i = 0; i < is_dense.size(); ++i)
    is_dense[i] = (i + 1) % static_cast<std::size_t>(step) != 0;
  const bool step_is_good = leading_dense_layers(is_dense) >= 0;
  if (!step_is_good) reader.refuse("decoder_sparse_step", std::string(kOnlyFirst));

  const Json* listed = reader.value("mlp_only_layers");
  if (listed == nullptr || listed->is_null()) return std::max(0, leading_dense_layers(is_dense));
  const auto is_layer = [&](const Json& layer) {
    return layer.is_number_integer() && layer.get<std::int64_t>() >= 0 &&
           layer.get<std::int64_t>() < n_layers;
  };
  if (!listed->is_array() || !std::ranges::all_of(*listed, is_layer)) {
    reader.refuse("mlp_only_layers", fmt::format("array of integers in 0..{}", n_layers - 1));
    return 0;
  }
  for (const Json& layer : *listed) is_dense[layer.get<std::size_t>()] = true;
  const int n_dense = leading_dense_layers(is_dense);
  if (n_dense < 0 && step_is_good) reader.refuse("mlp_only_layers", std::string(kOnlyFirst));
  return std::max(0, n_dense);
}

int deepseek_dense_layers(JsonReader& reader, int n_layers) {
  const int first = reader.integer("first_k_dense_replace", 0, kMostLayers);
  const int every = reader.integer("moe_layer_freq", 1, kMostLayers, 1);
  std::vector<bool> is_dense(static_cast<std::size_t>(n_layers));
  for (int i = 0; i < n_layers; ++i) is_dense[static_cast<std::size_t>(i)] = i < first || i % every != 0;
  const int n_dense = leading_dense_layers(is_dense);
  if (n_dense < 0) reader.refuse("moe_layer_freq", std::string(kOnlyFirst));
  return std::max(0, n_dense);
}

int routed_experts(JsonReader& reader, std::string_view key) {
  return reader.integer(key, 1, kMostExperts);
}

Experts mixtral_experts(JsonReader& reader, const Transformer& model) {
  return {.n_routed = routed_experts(reader, "num_local_experts"), .ffn_size = model.ffn_size};
}

Experts qwen_experts(JsonReader& reader, const HfModelType& type, int n_layers) {
  // Later versions of transformers write num_experts under its other name.
  const bool is_renamed = !reader.has("num_experts") && reader.has("num_local_experts");
  Experts experts{.n_routed = routed_experts(reader, is_renamed ? "num_local_experts" : "num_experts"),
                  .ffn_size = reader.integer("moe_intermediate_size", 1, kWidest)};
  if (type.has_shared_expert) {
    experts.shared_ffn_size = reader.integer("shared_expert_intermediate_size", 1, kWidest);
    experts.shared_gate = true;
  }
  experts.n_dense_layers = qwen_dense_layers(reader, n_layers);
  return experts;
}

Experts deepseek_experts(JsonReader& reader, int n_layers) {
  Experts experts{.n_routed = routed_experts(reader, "n_routed_experts"),
                  .ffn_size = reader.integer("moe_intermediate_size", 1, kWidest)};
  const std::int64_t shared = std::int64_t{size_or_null(reader, "n_shared_experts")} * experts.ffn_size;
  if (shared > kWidest) {
    reader.refuse("n_shared_experts", fmt::format("a width of at most {} together", kWidest));
  } else {
    experts.shared_ffn_size = static_cast<int>(shared);
  }
  experts.n_dense_layers = deepseek_dense_layers(reader, n_layers);
  // DeepSeek-V2-Lite has these keys, and a router that does not read them.
  const Json* method = reader.value("topk_method");
  const bool is_limited = method == nullptr || !method->is_string() || method->get<std::string>() != "greedy";
  if (is_limited && says_something(reader.value("n_group"))) {
    experts.n_groups = reader.integer("n_group", 1, kMostExperts);
    experts.groups_per_token = reader.integer("topk_group", 1, kMostExperts);
  }
  return experts;
}

}  // namespace

void read_hf_window(JsonReader& reader, const HfModelType& type, Transformer& model) {
  const int tokens = window_tokens(reader, type);
  const int listed = listed_windows(reader, model.n_layers);
  if (tokens == 0) {
    if (listed > 0)
      reader.refuse("layer_types", "full_attention in every layer without a sliding_window",
                    "\"sliding_attention\" (string)");
    return;
  }
  if (type.window == HfWindow::none) {
    reader.refuse("sliding_window", fmt::format("none: {} has no sliding windows", type.name));
    return;
  }
  model.n_windowed_layers = listed >= 0 ? listed : windows_by_rule(reader, type, model.n_layers);
  if (model.n_windowed_layers > 0) model.sliding_window_tokens = tokens;
}

LatentAttention read_hf_latent(JsonReader& reader) {
  return read_latent(reader, size_or_null(reader, "q_lora_rank"));
}

Experts read_hf_experts(JsonReader& reader, const HfModelType& type, const Transformer& model) {
  if (type.experts == HfExperts::none) return {};
  const Json* n_routed = reader.value("n_routed_experts");
  if (type.experts == HfExperts::deepseek && n_routed != nullptr && n_routed->is_null()) return {};

  const std::size_t before = reader.n_problems();
  Experts experts = type.experts == HfExperts::mixtral ? mixtral_experts(reader, model)
                    : type.experts == HfExperts::qwen  ? qwen_experts(reader, type, model.n_layers)
                                                       : deepseek_experts(reader, model.n_layers);
  experts.per_token = reader.integer("num_experts_per_tok", 1, kMostExperts);
  if (reader.n_problems() == before && experts.per_token > experts.n_routed)
    reader.refuse("num_experts_per_tok", fmt::format("at most the {} routed experts", experts.n_routed));
  if (reader.n_problems() == before) refuse_groups(reader, experts, "n_group", "topk_group");
  return experts.n_dense_layers == model.n_layers ? Experts{} : experts;
}

}  // namespace packsim
