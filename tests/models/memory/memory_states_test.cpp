#include "models/memory/states.hpp"

#include <catch2/catch.hpp>

#include "models/memory/weights.hpp"
#include "tests/models/closed_forms.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/gibibyte.hpp"
#include "tests/models/llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using packsim_test::kGibibyte;
constexpr double kLlama8bParameters = 8030261248;

double whole_model_bytes(const Transformer& model, const ParallelPlan& plan) {
  return stage_states(model, plan, 0).total_bytes();
}

double all_weights(const Transformer& model, ParallelPlan plan) {
  double elements = 0;
  for (int stage = 0; stage < plan.pp_degree; ++stage) elements += stage_weights(model, plan, stage).total();
  return elements;
}

}  // namespace

TEST_CASE("One GPU of a plan without splits holds all parameters") {
  for (const Transformer& model : {kLlama8b, kDeepseekV2, kQwen3Moe, kTinyMixture, kTinyLatent})
    CHECK(stage_weights(model, {}, 0).total() == model.parameters());
  CHECK(stage_weights(kLlama8b, {}, 0).dense == kLlama8bParameters);
  // 59 layers of 160 experts of 3 x 5120 x 1536, of 235.7 G parameters.
  CHECK(stage_weights(kDeepseekV2, {}, 0).experts == 59.0 * 160 * 3 * 5120 * 1536);
}

TEST_CASE("LLaMA-8B's states on 32 GPUs take 3.7, 18.2, 32.7 and 47.7 GiB") {
  // 8.03 G parameters of 16/32, 2 + 14/32, 4 + 12/32 and, with fp32 gradients, 6 + 12/32 bytes.
  const auto gibibytes = [](int zero_stage, bool fp32_gradients) {
    return whole_model_bytes(
               kLlama8b,
               {.n_gpus = 32, .zero_stage = zero_stage, .execution = {.fp32_gradients = fp32_gradients}}) /
           kGibibyte;
  };
  CHECK(gibibytes(3, false) == Approx(kLlama8bParameters * 16 / 32 / kGibibyte));
  CHECK(gibibytes(3, false) == Approx(3.7).margin(0.05));
  CHECK(gibibytes(2, false) == Approx(18.2).margin(0.05));
  CHECK(gibibytes(1, false) == Approx(32.7).margin(0.05));
  CHECK(gibibytes(1, true) == Approx(47.7).margin(0.05));
}

TEST_CASE("States of plain plans are those of the ZeRO paper") {
  for (const int n_gpus : {1, 8, 32, 1024}) {
    for (int zero_stage = 0; zero_stage <= 3; ++zero_stage) {
      // It accumulates in fp32 where gradients are not sharded.
      const ParallelPlan plan{
          .n_gpus = n_gpus, .zero_stage = zero_stage, .execution = {.fp32_gradients = zero_stage < 2}};
      CHECK(whole_model_bytes(kLlama8b, plan) ==
            Approx(packsim_test::model_state_bytes(kLlama8b, zero_stage, n_gpus)).epsilon(1e-12));
    }
  }
}

TEST_CASE("Hybrid sharding holds what ZeRO over the GPUs of one group does") {
  for (int zero_stage = 1; zero_stage <= 3; ++zero_stage) {
    const double hybrid =
        whole_model_bytes(kLlama8b, {.n_gpus = 128, .zero_stage = zero_stage, .shard_degree = 8});
    CHECK(hybrid == whole_model_bytes(kLlama8b, {.n_gpus = 8, .zero_stage = zero_stage}));
  }
}

TEST_CASE("Tensor parallelism splits matrices and the vocabulary, but not norms") {
  const ParallelPlan plan{.n_gpus = 8, .tp_degree = 8};
  const double matrices = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336;
  CHECK(layer_weights(kLlama8b, plan, LayerKind::dense).dense == matrices / 8 + 2 * 4096);
  CHECK(stage_weights(kLlama8b, plan, 0).dense ==
        32 * (matrices / 8 + 2 * 4096) + 2 * 128256.0 * 4096 / 8 + 4096);
  // 16 GPUs share 8 key-value heads: each has a whole one, 1024 / 8 = 128 rows of k and of v.
  const double copied = (2.0 * 4096 * 4096 + 3.0 * 4096 * 14336) / 16 + 2.0 * 4096 * 128 + 2 * 4096;
  CHECK(layer_weights(kLlama8b, {.n_gpus = 16, .tp_degree = 16}, LayerKind::dense).dense == copied);
  // Of latent attention the down-projections are whole: 5120 x 1536 and 5120 x (512 + 64).
  const double latent_whole = 5120.0 * (1536 + 576);
  const double latent_split = 1536.0 * 128 * 192 + 512.0 * 128 * 256 + 128.0 * 128 * 5120;
  const double vectors = 2 * 5120 + 1536 + 512;
  CHECK(layer_weights(kDeepseekV2, {.n_gpus = 4, .tp_degree = 4}, LayerKind::dense).dense ==
        latent_whole + (latent_split + 3.0 * 5120 * 12288) / 4 + vectors);
}

TEST_CASE("Pipeline stages hold a part of the layers, the first the embedding, the last the head") {
  const ParallelPlan plan{.n_gpus = 4, .pp_degree = 4};
  const double layer = kLlama8b.layer_parameters();
  const double vocabulary = 128256.0 * 4096;
  CHECK(stage_weights(kLlama8b, plan, 0).dense == 8 * layer + vocabulary);
  CHECK(stage_weights(kLlama8b, plan, 1).dense == 8 * layer);
  CHECK(stage_weights(kLlama8b, plan, 3).dense == 8 * layer + vocabulary + 4096);
  CHECK(all_weights(kLlama8b, plan) == kLlama8bParameters);

  Transformer tied = kLlama8b;
  tied.tied_embeddings = true;
  CHECK(all_weights(tied, {}) == kLlama8bParameters - vocabulary);
  CHECK(all_weights(tied, plan) == kLlama8bParameters);  // two copies, on the first and the last stage
}

TEST_CASE("Expert parallelism spreads routed experts alone, over GPUs that have states of their own") {
  // 48 layers, 128 experts of 3 x 2048 x 768 each. 64 GPUs, experts over 8: 8 GPUs hold the same ones.
  const ParallelPlan plan{.n_gpus = 64, .ep_degree = 8, .zero_stage = 1};
  const double experts = 48.0 * 128 * 3 * 2048 * 768;
  const double dense = kQwen3Moe.parameters() - experts;
  CHECK(expert_state_gpus(plan) == 8);
  const GpuWeights weights = stage_weights(kQwen3Moe, plan, 0);
  CHECK(weights.experts == experts / 8);
  CHECK(weights.dense == dense);
  const StateBytes states = stage_states(kQwen3Moe, plan, 0);
  CHECK(states.weights_bytes == 2 * (dense + experts / 8));
  CHECK(states.optimizer_bytes == Approx(12 * (dense / 64 + experts / 64)));

  // Tensor parallelism leaves experts whole: its two GPUs hold the same ones.
  const ParallelPlan split{.n_gpus = 64, .tp_degree = 2, .ep_degree = 8};
  CHECK(stage_weights(kQwen3Moe, split, 0).experts == experts / 8);
  CHECK(expert_state_gpus(split) == 8);

  // Or each of the two has a half, which 4 GPUs hold.
  ParallelPlan halves = split;
  halves.execution.splits_experts = true;
  CHECK(stage_weights(kQwen3Moe, halves, 0).experts == experts / 16);
  CHECK(stage_weights(kQwen3Moe, halves, 0).dense == stage_weights(kQwen3Moe, split, 0).dense);
  CHECK(expert_state_gpus(halves) == 4);
  CHECK(stage_states(kQwen3Moe, halves, 0).optimizer_bytes ==
        Approx(stage_states(kQwen3Moe, split, 0).optimizer_bytes));
}

TEST_CASE("LoRA trains two matrices of the rank beside every matrix, and freezes the rest") {
  const ParallelPlan plan{.n_gpus = 8, .zero_stage = 1, .lora_rank = 16};
  // In + out of q, k, v, o, gate, up, down.
  const double widths = 2 * 8192 + 2 * 5120 + 3 * 18432;
  const double adapters = 32 * 16 * widths;  // 41.9 M
  CHECK(adapters == 41943040);
  CHECK(stage_adapters(kLlama8b, plan, 0).total() == adapters);
  CHECK(trained_elements(kLlama8b, plan, 0) == adapters);
  const StateBytes states = stage_states(kLlama8b, plan, 0);
  CHECK(states.weights_bytes == 2 * (kLlama8bParameters + adapters));
  CHECK(states.gradients_bytes == 2 * adapters);
  CHECK(states.optimizer_bytes == 12 * adapters / 8);
  // The frozen weights are sharded by stage 3 alone.
  ParallelPlan third = plan;
  third.zero_stage = 3;
  CHECK(stage_states(kLlama8b, third, 0).weights_bytes == Approx(2 * (kLlama8bParameters + adapters) / 8));
  // Split over two GPUs, one side of each pair is whole: q, k, v, gate and up split their outputs, o and down
  // their inputs.
  const double split = 4096 + 2048 + 2 * (4096 + 512) + 2048 + 4096 + 3 * (4096 + 7168);
  CHECK(layer_adapters(kLlama8b, {.n_gpus = 2, .tp_degree = 2, .lora_rank = 16}, LayerKind::dense).dense ==
        16 * split);
  // Every expert has its own: 3 matrices of 2048 + 768.
  CHECK(layer_adapters(kQwen3Moe, {.lora_rank = 4}, LayerKind::expert).experts == 4.0 * 128 * 3 * 2816);
}

TEST_CASE(
    "An offloaded optimizer leaves weights and gradients on the GPU and 16 bytes a parameter on the host") {
  const ParallelPlan plan{.n_gpus = 8, .zero_stage = 2, .offload = {.optimizer = true}};
  const StateBytes states = stage_states(kLlama8b, plan, 0);
  CHECK(states.weights_bytes == 2 * kLlama8bParameters);
  CHECK(states.gradients_bytes == 2 * kLlama8bParameters / 8);
  CHECK(states.optimizer_bytes == 0);
  CHECK(states.step_bytes == 0);
  CHECK(states.host_bytes == 16 * kLlama8bParameters / 8);
}

TEST_CASE("While the optimizer steps, bf16 gradients of the shard are there in fp32 as well") {
  CHECK(stage_states(kLlama8b, {.n_gpus = 8, .zero_stage = 1}, 0).step_bytes == 4 * kLlama8bParameters / 8);
  CHECK(stage_states(kLlama8b, {.n_gpus = 8, .zero_stage = 0}, 0).step_bytes == 4 * kLlama8bParameters);
  CHECK(stage_states(kLlama8b, {.n_gpus = 8, .zero_stage = 1, .execution = {.fp32_gradients = true}}, 0)
            .step_bytes == 0);
}

TEST_CASE("A higher ZeRO stage never holds more") {
  for (const Transformer& model : {kLlama8b, kDeepseekV2, kQwen3Moe}) {
    for (const int lora_rank : {0, 8}) {
      ParallelPlan plan{.n_gpus = 64, .tp_degree = 2, .lora_rank = lora_rank};
      double before = 1e300;
      for (plan.zero_stage = 0; plan.zero_stage <= 3; ++plan.zero_stage) {
        const double bytes = whole_model_bytes(model, plan);
        CHECK(bytes < before);
        before = bytes;
      }
    }
  }
}
