// Layers of other kinds than LLaMA's, and what several micro-batches add to a step.

#include <catch2/catch.hpp>

#include "models/coverage/step_kernels.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/kernel_sums.hpp"
#include "tests/models/llama_8b.hpp"

using namespace packsim;
using packsim_test::count_of;
using packsim_test::kDeepseekV2;
using packsim_test::kLlama8b;
using packsim_test::kQwen3Moe;
using packsim_test::kTinyMixture;
using packsim_test::one;
using packsim_test::payload;
using packsim_test::sum;

namespace {

StepPlan plan_of(const Transformer& model, const std::vector<std::string>& packs, int sp_degree = 1) {
  StepPlan plan;
  plan.model = model;
  plan.sequence.ulysses = sp_degree;
  for (const std::string& pack : packs) plan.micro_batches.push_back(parse_documents(pack));
  return plan;
}

// Of the kernels that add gradients: "pass=fwd" is what they share with the residual adds of the forward
// pass.
double gradient_sum_bytes(const std::vector<KernelUse>& uses) {
  double bytes = 0;
  for (const KernelUse& use : uses) {
    if (use.part == "backward" && use.kernel.kernel() == "elementwise" && use.kernel.value("pass") == "fwd")
      bytes += use.count * kernel_bytes(use.kernel);
  }
  return bytes;
}

}  // namespace

TEST_CASE(
    "Matrix products of models with experts add up to the flop of the weights that a token goes through") {
  // 800 tokens of 8 in 128 experts are 50 an expert, of 6 in 160 experts 30, of 2 in 8 experts 200.
  for (const Transformer& model : {kQwen3Moe, kDeepseekV2, kTinyMixture}) {
    CAPTURE(model.name);
    const std::vector<KernelUse> uses = step_kernels(plan_of(model, {"1x800"}));
    const double flop = 800 * (model.layers_flop_per_token() + model.head_flop_per_token());
    CHECK(sum(uses, "gemm", "forward", kernel_flop) == Approx(flop).epsilon(1e-12));
    CHECK(sum(uses, "gemm", "backward", kernel_flop) == Approx(2 * flop).epsilon(1e-12));
  }
}

TEST_CASE("Every expert of a layer is a product of its own") {
  const std::vector<KernelUse> uses = step_kernels(plan_of(kQwen3Moe, {"1x4096"}));
  // 4096 x 8 / 128 tokens an expert; gate and up of 128 experts in 48 layers, and down.
  CHECK(count_of(uses, "gemm m=256 n=768 k=2048 layout=tn cache=cold", "forward") == 2 * 128 * 48);
  CHECK(count_of(uses, "gemm m=256 n=2048 k=768 layout=tn cache=cold", "forward") == 128 * 48);
  CHECK(count_of(uses, "elementwise op=swiglu pass=fwd rows=256 cols=768 cache=cold", "forward") == 128 * 48);
  CHECK(count_of(uses, "gemm m=4096 n=128 k=2048 layout=tn cache=cold", "forward") == 48);  // router
}

TEST_CASE("Norms of queries and keys run once a head") {
  const std::vector<KernelUse> uses = step_kernels(plan_of(kQwen3Moe, {"1x100"}));
  for (const auto& [pass, part] : {std::pair{"fwd", "forward"}, {"bwd", "backward"}}) {
    const std::string start = std::string("elementwise op=rms_norm pass=") + pass;
    CHECK(count_of(uses, start + " rows=3200 cols=128 cache=cold", part) == 48);  // 32 heads
    CHECK(count_of(uses, start + " rows=400 cols=128 cache=cold", part) == 48);   // 4 key heads
  }
}

TEST_CASE("Checkpointed layers are the first, and dense ones come before those with experts") {
  StepPlan plan = plan_of(kDeepseekV2, {"1x800"});
  const auto recomputed_flop = [&](int gc_layers) {
    plan.gc_layers = gc_layers;
    return sum(step_kernels(plan), "gemm", "recompute", kernel_flop);
  };
  const double dense = 2 * 800 * kDeepseekV2.active_layer_matmul_parameters(LayerKind::dense);
  const double expert = 2 * 800 * kDeepseekV2.active_layer_matmul_parameters(LayerKind::expert);
  CHECK(recomputed_flop(0) == 0);
  CHECK(recomputed_flop(1) == Approx(dense).epsilon(1e-12));
  CHECK(recomputed_flop(60) == Approx(dense + 59 * expert).epsilon(1e-12));
  // Two layers of the model: the dense one and one with experts.
  plan.n_layers = 2;
  plan.gc_layers = 0;
  const double head = 800 * kDeepseekV2.head_flop_per_token();
  CHECK(sum(step_kernels(plan), "gemm", "forward", kernel_flop) ==
        Approx(dense + expert + head).epsilon(1e-12));
  plan.n_layers = 1;
  CHECK(sum(step_kernels(plan), "gemm", "forward", kernel_flop) == Approx(dense + head).epsilon(1e-12));
}

TEST_CASE("Latent attention has keys for every head, and a head_dim between those of keys and values") {
  for (const int sp : {1, 8, 128}) {
    CAPTURE(sp);
    const std::vector<KernelUse> uses = step_kernels(plan_of(kDeepseekV2, {"2x1024+1x4096"}, sp));
    const std::string heads = std::to_string(128 / sp);
    // (192 + 128) / 2
    CHECK(count_of(
              uses,
              "attention pass=fwd docs=2x1024+1x4096 heads=" + heads + " kv_heads=" + heads + " head_dim=160",
              "forward") == 60);
    const double pairs = 2 * 1024.0 * 1024 + 4096.0 * 4096;
    CHECK(sum(uses, "attention", "forward", kernel_flop) ==
          pairs * kDeepseekV2.attention_flop_per_pair() / sp);
  }
}

TEST_CASE("Ulysses of latent attention sends queries and keys of 192, values and outputs of 128 a head") {
  const std::vector<KernelUse> uses = step_kernels(plan_of(kDeepseekV2, {"1x1024"}, 8));
  // 128 tokens a GPU, 60 layers, bf16.
  const double bytes = 60 * 2 * 128.0 * 128 * (192 + 192 + 128 + 128);
  CHECK(payload(uses, "all_to_all", "forward") == bytes);
  CHECK(payload(uses, "all_to_all", "backward") == bytes);
}

TEST_CASE("Windowed layers count the share of attention that their windows leave") {
  Transformer model = kLlama8b;
  model.sliding_window_tokens = 1024;
  model.n_windowed_layers = 24;
  StepPlan plan = plan_of(model, {"2x512+1x4096"});
  plan.gc_layers = 8;
  const std::vector<KernelUse> uses = step_kernels(plan);
  const double flop = 2 * model.attention_flop(512) + model.attention_flop(4096);
  CHECK(sum(uses, "attention", "forward", kernel_flop) == Approx(flop).epsilon(1e-12));
  CHECK(sum(uses, "attention", "backward", kernel_flop) == Approx(2.5 * flop).epsilon(1e-12));
  CHECK(sum(uses, "attention", "recompute", kernel_flop) == Approx(flop / 4).epsilon(1e-12));
  // Documents that the window holds are whole.
  CHECK(sum(step_kernels(plan_of(model, {"4x1024"})), "attention", "forward", one) == 32);
}

TEST_CASE("All weights of a model with experts travel and are updated, once each") {
  StepPlan plan = plan_of(kDeepseekV2, {"1x1024"});
  plan.dp_degree = 16;
  plan.zero_stage = 3;
  const double parameters = kDeepseekV2.parameters();
  const std::vector<KernelUse> uses = step_kernels(plan);
  CHECK(payload(uses, "all_gather", "forward") == 2 * parameters);
  CHECK(payload(uses, "reduce_scatter", "backward") == 2 * parameters);
  CHECK(count_of(uses, "adamw parameters=" + std::to_string(std::llround(parameters / 16)), "optimizer") ==
        1);
}

TEST_CASE("Gradients of micro-batches after the first are added to those before: three values of 2 bytes") {
  // All weights but the norms', two in each layer and the last.
  const double weights = kLlama8b.parameters() - 65 * 4096;
  StepPlan plan = plan_of(kLlama8b, {"1x256"});
  CHECK(gradient_sum_bytes(step_kernels(plan)) == 0);
  plan.micro_batches.resize(4, parse_documents("1x256"));
  const std::vector<KernelUse> uses = step_kernels(plan);
  CHECK(gradient_sum_bytes(uses) == 3 * 6 * weights);
  // down: one in each layer, in three micro-batches.
  CHECK(count_of(uses, "elementwise op=residual_add pass=fwd rows=4096 cols=14336 cache=cold", "backward") ==
        3 * 32);
  // ZeRO 1 keeps whole gradients until the end of the step, ZeRO 2 and 3 a sixteenth of them.
  plan.dp_degree = 16;
  for (const auto& [stage, shards] : {std::pair{0, 1}, {1, 1}, {2, 16}, {3, 16}}) {
    CAPTURE(stage);
    plan.zero_stage = stage;
    CHECK(gradient_sum_bytes(step_kernels(plan)) == 3 * 6 * weights / shards);
  }
}

TEST_CASE("Gradients of experts and of tied embeddings are added once each") {
  for (const Transformer& model : {kQwen3Moe, kTinyMixture}) {
    CAPTURE(model.name);
    double weights =
        model.hidden_size * static_cast<double>(model.vocab_size) * (model.tied_embeddings ? 1 : 2);
    for (const LayerKind kind : {LayerKind::dense, LayerKind::expert})
      weights += model.n_layers_of(kind) * model.layer_matmul_parameters(kind);
    CHECK(gradient_sum_bytes(step_kernels(plan_of(model, {"1x256", "1x256"}))) == 6 * weights);
  }
}
