#include "models/parallel_plan.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "closed_forms.hpp"
#include "expert_models.hpp"
#include "llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using Mistakes = std::vector<std::string>;

const Cluster kFourNodes{.name = "four", .source = "", .gpu = {}, .nodes = 4, .gpus_per_node = 8};

Mistakes mistakes(const Transformer& model, const ParallelPlan& plan, const Cluster& cluster = kFourNodes) {
  Mistakes texts;
  for (const PlanMistake& mistake : plan_mistakes(model, cluster, plan)) texts.push_back(mistake.text());
  return texts;
}

}  // namespace

TEST_CASE("Plans that can exist have no mistakes") {
  const std::vector<ParallelPlan> dense = {
      {.n_gpus = 1},
      {.n_gpus = 32, .sequence = {.ulysses = 8}},
      {.n_gpus = 32, .sequence = {.ulysses = 32}, .zero_stage = 3},  // 8 key-value heads are copied
      {.n_gpus = 32, .tp_degree = 4, .sequence = {.ulysses = 2, .ring = 4}},
      {.n_gpus = 16, .tp_degree = 8, .pp_degree = 2, .virtual_stages = 4, .gc_layers = 32},
      {.n_gpus = 6, .pp_degree = 3, .chunk_layers = {0, 32, 0}},
      {.n_gpus = 8, .offload = {.optimizer = true}, .lora_rank = 4096}};
  for (const ParallelPlan& plan : dense) CHECK(mistakes(kLlama8b, plan) == Mistakes{});

  CHECK(mistakes(kQwen3Moe, {.n_gpus = 32, .sequence = {.ulysses = 4}, .ep_degree = 32}) == Mistakes{});
  CHECK(mistakes(kDeepseekV2, {.n_gpus = 32,
                               .tp_degree = 4,
                               .sequence = {.ulysses = 2},
                               .pp_degree = 4,
                               .ep_degree = 2,
                               .latent_exchange = true}) == Mistakes{});
}

TEST_CASE("fp8 needs a GPU that has it, and fp8 gathers need ZeRO 3") {
  Cluster hopper = kFourNodes;
  hopper.gpu.peak_flop_per_s = {{"bf16", 989e12}, {"fp8", 1979e12}};
  ParallelPlan plan{.n_gpus = 8, .zero_stage = 3, .precision = Precision::fp8_current, .fp8_gather = true};
  CHECK(mistakes(kLlama8b, plan, hopper) == Mistakes{});
  CHECK(mistakes(kLlama8b, plan) ==
        Mistakes{"precision: expected bf16 on a GPU whose file states no peak of fp8, got fp8_current"});
  plan.zero_stage = 2;
  const std::string no_gather = "fp8_gather: expected false without an fp8 precision and ZeRO 3, got true";
  CHECK(mistakes(kLlama8b, plan, hopper) == Mistakes{no_gather});
  plan.zero_stage = 3;
  plan.precision = Precision::bf16;
  CHECK(mistakes(kLlama8b, plan, hopper) == Mistakes{no_gather});
  plan.precision = Precision::mxfp8;
  CHECK(
      mistakes(kLlama8b, plan, hopper) ==
      Mistakes{"precision: expected bf16 on a GPU whose file states no peak of mxfp8, got mxfp8", no_gather});
}

TEST_CASE("Target modules are the model's, and frozen weights in 4 bits need LoRA in bf16") {
  const auto with = [](std::size_t target, int rank = 8) {
    ParallelPlan plan{.n_gpus = 8, .lora_rank = rank};
    plan.lora_targets.add(target);
    return plan;
  };
  CHECK(mistakes(kLlama8b, with(0)) == Mistakes{});
  CHECK(mistakes(kQwen3Moe, with(6)) == Mistakes{});    // down_proj, of experts
  CHECK(mistakes(kDeepseekV2, with(9)) == Mistakes{});  // kv_a_proj_with_mqa
  CHECK(mistakes(kDeepseekV2, with(1)) ==
        Mistakes{"lora_target_modules: expected modules that the model has (o_proj, gate_proj, up_proj, "
                 "down_proj, q_a_proj, q_b_proj, kv_a_proj_with_mqa, kv_b_proj), got k_proj"});
  Transformer phi3 = kLlama8b;
  phi3.fused_projections = true;
  for (const std::size_t target : {3, 6, 11, 12})  // o_proj, down_proj, qkv_proj, gate_up_proj
    CHECK(mistakes(phi3, with(target)) == Mistakes{});
  for (const std::size_t target : {0, 1, 2, 4, 5}) {
    CHECK(mistakes(phi3, with(target)) ==
          Mistakes{"lora_target_modules: expected modules that the model has (o_proj, down_proj, qkv_proj, "
                   "gate_up_proj), got " +
                   std::string(kLoraTargets[target].name)});
  }
  CHECK(mistakes(kLlama8b, with(11)) ==
        Mistakes{"lora_target_modules: expected modules that the model has (q_proj, k_proj, v_proj, o_proj, "
                 "gate_proj, up_proj, down_proj), got qkv_proj"});
  ParallelPlan full = with(0, 0);
  full.lora_targets.add(2);
  CHECK(mistakes(kLlama8b, full) ==
        Mistakes{"lora_target_modules: expected none without a lora_rank, got q_proj, v_proj"});
  ParallelPlan packed{.n_gpus = 8, .lora_rank = 8, .frozen_weights = &kNf4};
  CHECK(mistakes(kLlama8b, packed) == Mistakes{});
  packed.lora_rank = 0;
  CHECK(mistakes(kLlama8b, packed) == Mistakes{"frozen_weights: expected bf16 without a lora_rank, got nf4"});
  packed.lora_rank = 8;
  packed.precision = Precision::fp8_current;
  Cluster hopper = kFourNodes;
  hopper.gpu.peak_flop_per_s = {{"bf16", 989e12}, {"fp8", 1979e12}};
  CHECK(mistakes(kLlama8b, packed, hopper) ==
        Mistakes{"frozen_weights: expected bf16 with an fp8 precision, got nf4"});
}

TEST_CASE("Only modules that the model has can be recomputed") {
  const auto with = [](LayerModules modules) {
    return ParallelPlan{.n_gpus = 8, .checkpointing = Checkpointing::modules, .recomputed_modules = modules};
  };
  const auto of = [](LayerModule module) { return LayerModules(module); };
  CHECK(mistakes(kLlama8b, with(LayerModules(LayerModule::mlp, LayerModule::layernorm))) == Mistakes{});
  CHECK(mistakes(kDeepseekV2, with(LayerModules(LayerModule::mla_up_proj, LayerModule::moe))) == Mistakes{});
  CHECK(mistakes(kLlama8b, with({})) == Mistakes{"checkpointing: expected at least one module, got none"});
  CHECK(mistakes(kLlama8b, with(of(LayerModule::mla_up_proj))) ==
        Mistakes{
            "checkpointing: expected no mla_up_proj for a model without latent attention, got mla_up_proj"});
  CHECK(mistakes(kLlama8b, with(of(LayerModule::moe_act))) ==
        Mistakes{"checkpointing: expected no moe_act for a model without experts, got moe_act"});
  CHECK(mistakes(kQwen3Moe, with(of(LayerModule::mlp))) ==
        Mistakes{"checkpointing: expected no mlp for a model without dense layers, got mlp"});
}

TEST_CASE("Each mistake is reported by itself") {
  const std::vector<std::pair<ParallelPlan, std::string>> llama = {
      {{.n_gpus = 64}, "n_gpus: expected 1..32, got 64"},
      {{.n_gpus = 0}, "n_gpus: expected 1..32, got 0"},
      {{.n_gpus = 8, .tp_degree = 0}, "tp_degree: expected 1..8, got 0"},
      {{.n_gpus = 8, .sequence = {.ulysses = 16}}, "sp_degree: expected 1..8, got 16"},
      {{.n_gpus = 8, .sequence = {.ring = -1}}, "cp_degree: expected 1..8, got -1"},
      {{.n_gpus = 8, .pp_degree = 0}, "pp_degree: expected 1..8, got 0"},
      {{.n_gpus = 8, .ep_degree = 0}, "ep_degree: expected 1..8, got 0"},
      {{.n_gpus = 8, .tp_degree = 4, .sequence = {.ulysses = 4}},
       "tp_degree x sp_degree: expected a divisor of the plan's 8 GPUs, got 4 x 4 = 16"},
      {{.n_gpus = 12, .sequence = {.ring = 8}}, "cp_degree: expected a divisor of the plan's 12 GPUs, got 8"},
      {{.n_gpus = 24, .sequence = {.ring = 2}, .pp_degree = 8},
       "cp_degree x pp_degree: expected a divisor of the plan's 24 GPUs, got 2 x 8 = 16"},
      {{.n_gpus = 12, .sequence = {.ring = 3}},
       "cp_degree: expected a divisor or a multiple of the 8 GPUs of a node, got 3"},
      {{.n_gpus = 12, .sequence = {.ring = 12}},
       "cp_degree: expected a divisor or a multiple of the 8 GPUs of a node, got 12"},
      {{.n_gpus = 8, .virtual_stages = 2}, "virtual_stages: expected 1 without a pipeline, got 2"},
      {{.n_gpus = 8, .virtual_stages = 0}, "virtual_stages: expected 1..32, got 0"},
      {{.n_gpus = 8, .pp_degree = 2, .virtual_stages = 3},
       "pp_degree x virtual_stages: expected a divisor of the model's 32 layers, or chunk_layers with those "
       "of each chunk, got 2 x 3 = 6"},
      {{.n_gpus = 9, .pp_degree = 3},
       "pp_degree: expected a divisor of the model's 32 layers, or chunk_layers with those of each chunk, "
       "got 3"},
      {{.n_gpus = 8, .pp_degree = 2, .virtual_stages = 2, .chunk_layers = {8, 8, 16}},
       "chunk_layers: expected 4 entries (pp_degree x virtual_stages), got 3"},
      {{.n_gpus = 8, .pp_degree = 4, .chunk_layers = {8, 0, 16, 8}},
       "chunk_layers: expected layers in chunk 1, got 0"},
      {{.n_gpus = 8, .pp_degree = 2, .chunk_layers = {33, -1}},
       "chunk_layers: expected layers in chunk 1, got -1"},
      {{.n_gpus = 8, .pp_degree = 2, .chunk_layers = {16, 15}},
       "chunk_layers: expected the model's 32 layers in all, got 31"},
      {{.n_gpus = 8, .ep_degree = 2}, "ep_degree: expected 1 for a model without experts, got 2"},
      {{.n_gpus = 8, .zero_stage = 4}, "zero_stage: expected 0..3, got 4"},
      {{.n_gpus = 8, .zero_stage = -1}, "zero_stage: expected 0..3, got -1"},
      {{.n_gpus = 8, .zero_stage = 0, .offload = {.optimizer = true}},
       "zero_stage: expected 1..3 where the optimizer is offloaded, so that each GPU updates its own shard, "
       "got 0"},
      {{.n_gpus = 8, .execution = {.bucket_elements = 0}}, "bucket_elements: expected at least 1, got 0"},
      {{.n_gpus = 8, .gc_layers = 33}, "gc_layers: expected 0..32, got 33"},
      {{.n_gpus = 8, .gc_layers = -1}, "gc_layers: expected 0..32, got -1"},
      {{.n_gpus = 8, .lora_rank = 4097}, "lora_rank: expected 0..4096, got 4097"},
      {{.n_gpus = 8, .lora_rank = -1}, "lora_rank: expected 0..4096, got -1"},
      {{.n_gpus = 8, .latent_exchange = true},
       "latent_exchange: expected false for a model without latent attention, got true"}};
  CHECK(mistakes(kDeepseekV2, {.n_gpus = 8, .ep_degree = 4, .expert_imbalance = 4.5}) ==
        Mistakes{"expert_imbalance: expected 1..4, where every token chooses experts of one GPU, got 4.5"});
  CHECK(mistakes(kLlama8b, {.n_gpus = 8, .expert_imbalance = 1.1}) ==
        Mistakes{"expert_imbalance: expected 1..1, where every token chooses experts of one GPU, got 1.1"});
  // Two of its experts a token, and a GPU for each of 8: 8 x 1 / 2.
  Transformer mixture = kQwen3Moe;
  mixture.experts.n_routed = 8;
  mixture.experts.per_token = 2;
  CHECK(mistakes(mixture, {.n_gpus = 8, .ep_degree = 8, .expert_imbalance = 4}) == Mistakes{});
  CHECK(mistakes(mixture, {.n_gpus = 8, .ep_degree = 8, .expert_imbalance = 5}) ==
        Mistakes{"expert_imbalance: expected 1..4, where every token chooses experts of one GPU, got 5"});
  CHECK(mistakes(kLlama8b, {.n_gpus = 8, .expert_dispatch = ExpertDispatch::deduplicated}) ==
        Mistakes{"expert_dispatch: expected all_to_all for a model without experts, got deduplicated"});
  CHECK(mistakes(kQwen3Moe, {.n_gpus = 8, .mlp_tiles = 2}) ==
        Mistakes{"mlp_tiles: expected 1 for a model whose layers all have experts, got 2"});
  CHECK(
      mistakes(kLlama8b,
               {.n_gpus = 8, .checkpointing = Checkpointing::operations, .mlp_tiles = 2, .loss_tiles = 0}) ==
      Mistakes{"loss_tiles: expected 1..65536, got 0",
               "mlp_tiles: expected 1 with checkpointing by operation, got 2"});
  CHECK(mistakes(kDeepseekV2, {.n_gpus = 8, .latent_exchange = true, .uneven_heads = true}) ==
        Mistakes{"uneven_heads: expected false where latents are sent instead of heads, got true"});
  for (const auto& [plan, mistake] : llama) CHECK(mistakes(kLlama8b, plan) == Mistakes{mistake});
}

TEST_CASE("Mistakes about heads and widths") {
  Transformer model = kLlama8b;
  model.n_heads = 28;
  model.n_kv_heads = 4;
  CHECK(mistakes(model, {.n_gpus = 8, .sequence = {.ulysses = 8}}) ==
        Mistakes{"sp_degree: expected a divisor of the model's 28 attention heads, got 8"});
  CHECK(
      mistakes(model, {.n_gpus = 8, .tp_degree = 4, .sequence = {.ulysses = 2}}) ==
      Mistakes{"tp_degree x sp_degree: expected a divisor of the model's 28 attention heads, got 4 x 2 = 8"});
  model.n_heads = 48;
  model.n_kv_heads = 6;
  CHECK(mistakes(model, {.n_gpus = 8, .sequence = {.ulysses = 8}}) ==
        Mistakes{"sp_degree: expected a divisor or a multiple of the model's 6 key-value heads, got 8"});
  // 2 x 12 GPUs would be a multiple of 12 heads, but 8 x 3 cannot split them before they are copied.
  const Cluster large{.name = "", .source = "", .gpu = {}, .nodes = 1, .gpus_per_node = 24};
  model.n_kv_heads = 12;
  CHECK(mistakes(model, {.n_gpus = 24, .tp_degree = 8, .sequence = {.ulysses = 3}}, large) ==
        Mistakes{"tp_degree: expected a divisor or a multiple of the model's 12 key-value heads, got 8"});
  model = kLlama8b;
  model.ffn_size = 14340;
  CHECK(mistakes(model, {.n_gpus = 8, .tp_degree = 8}) ==
        Mistakes{"tp_degree: expected a divisor of the MLP's width 14340, got 8"});
  CHECK(mistakes(model, {.n_gpus = 8, .sequence = {.ulysses = 8}}) == Mistakes{});
}

TEST_CASE("Mistakes about windows and experts") {
  Transformer model = kLlama8b;
  model.sliding_window_tokens = 4096;
  model.n_windowed_layers = 32;
  CHECK(mistakes(model, {.n_gpus = 8, .sequence = {.ulysses = 8}}) == Mistakes{});
  CHECK(mistakes(model, {.n_gpus = 8, .sequence = {.ring = 2}}) == Mistakes{});

  CHECK(mistakes(kDeepseekV2, {.n_gpus = 24, .ep_degree = 3}) ==
        Mistakes{"ep_degree: expected a divisor of the model's 160 routed experts, got 3"});
  // 32 GPUs, of which 4 x 2 hold other layers or other parts of them.
  CHECK(
      mistakes(kDeepseekV2, {.n_gpus = 32, .tp_degree = 4, .pp_degree = 2, .ep_degree = 8}) ==
      Mistakes{
          "ep_degree: expected a divisor of the 4 sequence and data-parallel neighbours in a stage, got 8"});
  model = kDeepseekV2;
  model.experts.shared_ffn_size = 3074;
  CHECK(mistakes(model, {.n_gpus = 8, .tp_degree = 4}) ==
        Mistakes{"tp_degree: expected a divisor of the shared experts' width 3074, got 4"});
  // No layer has the dense MLP.
  model = kQwen3Moe;
  model.ffn_size = 6145;
  CHECK(mistakes(model, {.n_gpus = 8, .tp_degree = 4}) == Mistakes{});
}

TEST_CASE("Every ZeRO stage goes with a pipeline") {
  for (int zero_stage = 0; zero_stage <= 3; ++zero_stage)
    CHECK(mistakes(kLlama8b, {.n_gpus = 32, .pp_degree = 4, .zero_stage = zero_stage}) == Mistakes{});
}

TEST_CASE("Mistakes about host memory") {
  const auto offloaded = [](const Offload& offload, int zero_stage = 3) {
    return mistakes(kLlama8b, {.n_gpus = 8, .zero_stage = zero_stage, .offload = offload});
  };
  const Offload all{.optimizer = true, .weights = true, .gradients = true, .activations = true};
  CHECK(offloaded(all) == Mistakes{});
  CHECK(offloaded({.activations = true}, 0) == Mistakes{});
  CHECK(offloaded({.optimizer = true, .gradients = true}, 2) == Mistakes{});
  for (const auto& [offload, name] :
       {std::pair{Offload{.weights = true}, "weights"}, std::pair{Offload{.gradients = true}, "gradients"}}) {
    CHECK(offloaded(offload) ==
          Mistakes{"offload: expected the optimizer too where weights or gradients are offloaded, got " +
                   std::string(name)});
  }
  CHECK(offloaded({.optimizer = true, .weights = true}, 2) ==
        Mistakes{"offload: expected no weights unless ZeRO 3 shards them, got weights"});
  CHECK(offloaded({.optimizer = true, .gradients = true}, 1) ==
        Mistakes{"offload: expected no gradients unless ZeRO 2 or 3 shards them, got gradients"});
  CHECK(
      mistakes(kLlama8b,
               {.n_gpus = 8, .checkpointing = Checkpointing::selective, .offload = {.activations = true}}) ==
      Mistakes{"offload: expected no activations unless checkpointing is full, because only inputs of such "
               "layers are offloaded, got activations"});
}

TEST_CASE("Mistakes about shard groups") {
  CHECK(mistakes(kLlama8b, {.n_gpus = 32, .zero_stage = 3, .shard_degree = 8}) == Mistakes{});
  CHECK(mistakes(kLlama8b, {.n_gpus = 32, .zero_stage = 3, .shard_degree = 32}) == Mistakes{});
  CHECK(mistakes(kLlama8b, {.n_gpus = 32, .zero_stage = 3, .shard_degree = 1}) == Mistakes{});
  // Of 32 GPUs, 2 x 2 hold other weights.
  const std::string expected =
      "shard_degree: expected a divisor of the 8 GPUs that hold the same weights (n_gpus / (tp_degree x "
      "pp_degree)), or 0 for all of them, got ";
  for (const int degree : {-1, 3, 16}) {
    CHECK(mistakes(kLlama8b, {.n_gpus = 32, .tp_degree = 2, .pp_degree = 2, .shard_degree = degree}) ==
          Mistakes{expected + std::to_string(degree)});
  }
  CHECK(mistakes(kLlama8b, {.n_gpus = 32, .zero_stage = 0, .shard_degree = 8}) ==
        Mistakes{"shard_degree: expected 0 under ZeRO 0, which shards nothing, got 8"});
  CHECK(mistakes(kDeepseekV2, {.n_gpus = 32, .ep_degree = 8, .shard_degree = 8}) == Mistakes{});
  CHECK(
      mistakes(kDeepseekV2, {.n_gpus = 32, .ep_degree = 16, .shard_degree = 8}) ==
      Mistakes{"shard_degree: expected a multiple of the ep_degree 16, so that each shard group holds whole "
               "copies of the experts, got 8"});
}

TEST_CASE("All mistakes come at once") {
  CHECK(mistakes(kLlama8b, {.n_gpus = 30,
                            .tp_degree = 5,
                            .pp_degree = 3,
                            .virtual_stages = 2,
                            .ep_degree = 2,
                            .zero_stage = 3,
                            .execution = {.bucket_elements = -5},
                            .gc_layers = 40,
                            .latent_exchange = true,
                            .lora_rank = -2}) ==
        Mistakes{
            "tp_degree: expected a divisor or a multiple of the 8 GPUs of a node, got 5",
            "tp_degree: expected a divisor of the model's 32 attention heads, got 5",
            "tp_degree: expected a divisor or a multiple of the model's 8 key-value heads, got 5",
            "tp_degree: expected a divisor of the MLP's width 14336, got 5",
            "pp_degree x virtual_stages: expected a divisor of the model's 32 layers, or chunk_layers with "
            "those of each chunk, got 3 x 2 = 6",
            "ep_degree: expected 1 for a model without experts, got 2",
            "bucket_elements: expected at least 1, got -5", "gc_layers: expected 0..32, got 40",
            "lora_rank: expected 0..4096, got -2",
            "latent_exchange: expected false for a model without latent attention, got true"});
}

TEST_CASE("Degrees far out of range are refused, not multiplied") {
  constexpr int kHuge = 2'000'000'000;
  const Cluster all{.name = "", .source = "", .gpu = {}, .nodes = 250'000'000, .gpus_per_node = 8};
  const ParallelPlan plan{.n_gpus = kHuge,
                          .tp_degree = kHuge,
                          .sequence = {.ulysses = kHuge, .ring = kHuge},
                          .pp_degree = kHuge,
                          .virtual_stages = kHuge};
  CHECK(mistakes(kLlama8b, plan, all).front() ==
        "tp_degree x sp_degree: expected a divisor of the plan's 2000000000 GPUs, got 2000000000 x "
        "2000000000 = 4000000000000000000");
}

TEST_CASE("Ulysses degrees are refused for the reasons that scenarios know") {
  std::mt19937 random(7);
  const auto draw = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
  int n_good = 0;
  for (int i = 0; i < 3000; ++i) {
    Transformer model = kLlama8b;
    model.n_kv_heads = draw(8);
    model.n_heads = model.n_kv_heads * draw(8);
    const Cluster cluster{.name = "", .source = "", .gpu = {}, .nodes = draw(4), .gpus_per_node = draw(8)};
    const int sp = draw(cluster.n_gpus());
    const bool good = packsim_test::sp_degree_exists(model, cluster, sp);
    CAPTURE(model.n_heads, model.n_kv_heads, cluster.nodes, cluster.gpus_per_node, sp);
    REQUIRE(mistakes(model, {.n_gpus = cluster.n_gpus(), .sequence = {.ulysses = sp}}, cluster).empty() ==
            good);
    n_good += good ? 1 : 0;
  }
  CHECK(n_good > 300);
  CHECK(n_good < 2700);
}

// What scenarios report of all groups at once, and leave out of each.
TEST_CASE("Mistakes that name no degree of a group are there whatever the group is") {
  const std::vector<std::string> group_keys = {"sp_degree", "cp_degree", "gc_layers"};
  std::mt19937 random(9);
  const auto draw = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
  int n_of_groups = 0;
  int n_of_all = 0;
  for (int i = 0; i < 3000; ++i) {
    ParallelPlan plan{.n_gpus = 32, .tp_degree = draw(9), .pp_degree = draw(5), .virtual_stages = draw(3)};
    plan.ep_degree = draw(4);
    plan.zero_stage = draw(4) - 1;
    plan.lora_rank = draw(6000);
    const Transformer& model = draw(2) == 1 ? kLlama8b : kDeepseekV2;
    const Mistakes of_all = mistakes(model, plan);
    n_of_all += of_all.empty() ? 0 : 1;
    plan.sequence.ulysses = draw(34);
    plan.sequence.ring = draw(5);
    plan.gc_layers = draw(70) - 1;
    for (const std::string& mistake : mistakes(model, plan)) {
      const std::string keys = mistake.substr(0, mistake.find(':'));
      const bool is_of_group = std::ranges::any_of(
          group_keys, [&](const std::string& key) { return keys.find(key) != std::string::npos; });
      n_of_groups += is_of_group ? 1 : 0;
      CAPTURE(mistake);
      REQUIRE((is_of_group || std::ranges::find(of_all, mistake) != of_all.end()));
    }
    for (const std::string& mistake : of_all) {
      const std::string keys = mistake.substr(0, mistake.find(':'));
      for (const std::string& key : group_keys) REQUIRE(keys.find(key) == std::string::npos);
    }
  }
  CHECK(n_of_groups > 1000);
  CHECK(n_of_all > 1000);
}
