#include "models/memory/activations.hpp"

#include <catch2/catch.hpp>

#include "tests/models/closed_forms.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

LayerActivations dense(const Transformer& model, const ParallelPlan& plan = {}) {
  return layer_activations(model, plan, LayerKind::dense);
}

LayerActivations expert(const Transformer& model, const ParallelPlan& plan = {}) {
  return layer_activations(model, plan, LayerKind::expert);
}

const ParallelPlan kFused{.execution = {.kernels = &kFusedKernels}};

}  // namespace

TEST_CASE("A dense layer keeps what counting its tensors says") {
  CHECK(dense(kLlama8b).kept_bytes == packsim_test::activation_bytes_per_token(kLlama8b));
  // Norms 2 x 8 h = 65 536; queries, keys, values, output 20 480; 4 bytes for 32 heads; MLP 8 x 14 336.
  CHECK(dense(kLlama8b).kept_bytes == 65536 + 20480 + 128 + 114688);
  CHECK(dense(kLlama8b).checkpointed_bytes == 8192);
  CHECK(dense(kLlama8b).recomputed_bytes == dense(kLlama8b).kept_bytes);
  for (const int degree : {2, 4, 8}) {
    // Splits of heads, tokens and columns leave the bytes of a token that the GPU has between the blocks.
    // Behind the all-to-all, attention's output is there once more.
    CHECK(dense(kLlama8b, {.n_gpus = 8, .sequence = {.ulysses = degree}}).kept_bytes ==
          dense(kLlama8b).kept_bytes + 8192);
    CHECK(dense(kLlama8b, {.n_gpus = 8, .tp_degree = degree}).kept_bytes == dense(kLlama8b).kept_bytes);
    CHECK(dense(kLlama8b, {.n_gpus = 8, .sequence = {.ring = degree}}).kept_bytes ==
          dense(kLlama8b).kept_bytes);
  }
}

TEST_CASE("Key-value heads that are copied take their room") {
  // 32 GPUs share 8 heads: four copies of keys and values, 3 x 2 x 1024 values more.
  const double more = 2.0 * 3 * 2 * 1024;
  const double not_copied = dense(kLlama8b, {.n_gpus = 8, .sequence = {.ulysses = 8}}).kept_bytes;
  CHECK(dense(kLlama8b, {.n_gpus = 32, .sequence = {.ulysses = 32}}).kept_bytes == not_copied + more);
  CHECK(dense(kLlama8b, {.n_gpus = 32, .tp_degree = 4, .sequence = {.ulysses = 8}}).kept_bytes ==
        not_copied + more);
}

TEST_CASE(
    "A layer of equal heads keeps Korthikanti's 34 h but for what the architectures and kernels differ in") {
  // arXiv 2205.05198, equation 1 without the scores, 5 a s / h: attention 11 h, MLP 19 h, norms 4 h, at 16
  // bits. A gated MLP of 2 h columns keeps 4 tensors of 2 h, as much as their GELU's two of 4 h: 16 h.
  Transformer model = kLlama8b;
  model.n_kv_heads = model.n_heads;
  model.ffn_size = 2 * model.hidden_size;
  const double h = model.hidden_size;
  const double dropout_masks = 2 * h;      // theirs, a byte a value behind attention and behind the MLP
  const double row_sums = 4.0 * 32;        // ours: flash attention's, in place of the scores
  const double unfused_norms = 2 * 4 * h;  // ours: fp32 copy and normalised input where they have one input
  CHECK(dense(model).kept_bytes == 34 * h - dropout_masks + row_sums + unfused_norms);
}

TEST_CASE("Latent attention keeps the heads' queries, keys and values, and the latents") {
  // 128 heads: queries and keys of 192, values and the output of 128, and 4 bytes each.
  const double heads = 2.0 * 128 * (2 * 192 + 2 * 128) + 4 * 128;
  const double latents = 8.0 * (1536 + 512);
  const double norms = 16.0 * 5120;
  const double mlp = 8.0 * 12288;
  CHECK(dense(kDeepseekV2).kept_bytes == norms + heads + latents + mlp);
  // Every GPU of a tensor-parallel group makes the latents of all the group's tokens.
  CHECK(dense(kDeepseekV2, {.n_gpus = 4, .tp_degree = 4}).kept_bytes == norms + heads + 4 * latents + mlp);
  // Sent instead of heads, the latents (512 and 64 values) of all 8 GPUs' tokens are kept too, and the output
  // once more behind its all-to-all.
  const ParallelPlan sends{.n_gpus = 8, .sequence = {.ulysses = 8}, .latent_exchange = true};
  CHECK(dense(kDeepseekV2, sends).kept_bytes == norms + heads + 2 * 128 * 128 + latents + 8 * 2 * 576 + mlp);
  CHECK(dense(kDeepseekV2, {.n_gpus = 1, .latent_exchange = true}).kept_bytes ==
        norms + heads + latents + mlp);
}

TEST_CASE("A query and key norm keeps an fp32 copy and the normalised heads") {
  Transformer plain = kQwen3Moe;
  plain.qk_norm = false;
  // 32 query heads and 4 key heads of 128.
  CHECK(expert(kQwen3Moe).kept_bytes - expert(plain).kept_bytes == 6.0 * 36 * 128);
}

TEST_CASE("Norms of outputs keep their inputs") {
  Transformer normed = kLlama8b;
  normed.output_norms = true;
  // Of 4096 values: two that nothing is computed from keep 8 bytes a value in Gemma's eager code, and its two
  // norms of inputs 10 where others keep 8. Fused, each norm keeps its input.
  CHECK(dense(normed).kept_bytes - dense(kLlama8b).kept_bytes == (8.0 + 2) * 2 * 4096);
  CHECK(dense(normed, kFused).kept_bytes - dense(kLlama8b, kFused).kept_bytes == 2.0 * 2 * 4096);
}

TEST_CASE("Experts keep every routed copy of a token") {
  // Router: 128 fp32 probabilities, 8 fp32 weights and 8 64-bit numbers. A copy: input and output of 2048,
  // four tensors of 768.
  const double router = 4 * 128 + 12 * 8;
  const double copies = 8 * 2.0 * (2 * 2048 + 4 * 768);
  const double attention = 2.0 * 128 * (2 * 32 + 2 * 4) + 4 * 32 + 6.0 * 36 * 128;
  CHECK(expert(kQwen3Moe).kept_bytes == 16.0 * 2048 + attention + router + copies);
  // Balanced, each GPU gets as many copies as it sends.
  CHECK(expert(kQwen3Moe, {.n_gpus = 8, .ep_degree = 8}).kept_bytes == expert(kQwen3Moe).kept_bytes);

  // The shared experts' tensors; their gate's value and the output that it weighs.
  Transformer bare = kTinyMixture;
  bare.experts.shared_ffn_size = 0;
  bare.experts.shared_gate = false;
  CHECK(expert(kTinyMixture).kept_bytes - expert(bare).kept_bytes == 8 * 12 + 2 * (16 + 1));
}

TEST_CASE("Fused kernels keep the inputs of norms and activations alone") {
  // Norms 2 x 4 h, attention as before, three MLP tensors.
  CHECK(dense(kLlama8b, kFused).kept_bytes == 32768 + 20480 + 128 + 6 * 14336);
  // Two norms of 2048 and those of 36 heads of 128 lose 4 bytes a value, 8 experts a tensor of 768 each.
  CHECK(expert(kQwen3Moe).kept_bytes - expert(kQwen3Moe, kFused).kept_bytes ==
        4.0 * (2 * 2048 + 36 * 128) + 8 * 2 * 768);
  // Two norms of 5120 and those of the latents; the dense MLP's activation.
  CHECK(dense(kDeepseekV2).kept_bytes - dense(kDeepseekV2, kFused).kept_bytes ==
        4.0 * (2 * 5120 + 1536 + 512) + 2 * 12288);
}

TEST_CASE("Adapters keep their narrow tensors, and eager ones copies of inputs") {
  // The layer's input and attention's output.
  CHECK(dense(kLlama8b, {.lora_rank = 16}).kept_bytes ==
        dense(kLlama8b).kept_bytes + 2 * 16 * 7 + 2 * (4096 + 4096));
  CHECK(dense(kLlama8b, {.execution = {.kernels = &kFusedKernels}, .lora_rank = 16}).kept_bytes ==
        dense(kLlama8b, kFused).kept_bytes + 2 * 16 * 7);
  // q, k, v, o and the router; three in each of 8 experts.
  CHECK(expert(kQwen3Moe, {.lora_rank = 4}).kept_bytes ==
        expert(kQwen3Moe).kept_bytes + 2 * 4 * (5 + 24) + 2 * (2048 + 4096));
}

TEST_CASE("Under autocast products keep their inputs in bf16 beside fp32 ones") {
  // Measured: 26 h + 4 a + 4 kv + 8 f + 4 H, where bf16 keeps 16 h.
  const ParallelPlan autocast{.execution = {.optimizer = &kAdamWFp32}};
  CHECK(dense(kLlama8b, autocast).kept_bytes == dense(kLlama8b).kept_bytes + 10 * 4096);
  CHECK(dense(kLlama8b, autocast).checkpointed_bytes == 4 * 4096);
}

TEST_CASE("Selective checkpointing saves the output of the attention kernel") {
  const ParallelPlan plan{.n_gpus = 8, .sequence = {.ulysses = 8}, .checkpointing = Checkpointing::selective};
  ParallelPlan core = plan;
  core.checkpointing = Checkpointing::modules;
  core.recomputed_modules = LayerModules(LayerModule::core_attn);
  // Without Ulysses the product behind attention keeps its only copy.
  CHECK(dense(kLlama8b, {.checkpointing = Checkpointing::selective}).recomputed_bytes == 0);
  for (const ParallelPlan& same : {plan, core}) {
    CHECK(dense(kLlama8b, same).kept_bytes - dense(kLlama8b, same).checkpointed_bytes == 2 * 4096);
    CHECK(dense(kDeepseekV2, same).kept_bytes - dense(kDeepseekV2, same).checkpointed_bytes == 2 * 128 * 128);
    CHECK(dense(kDeepseekV2, same).recomputed_bytes == 2 * 128 * 128);
  }
}

TEST_CASE(
    "Checkpointing by operation keeps the input and the outputs of attention and every second product") {
  ParallelPlan plan{.n_gpus = 8, .checkpointing = Checkpointing::operations};
  // Input, q, v, attention's output, gate and down: 2 bytes of 4096 + 4096 + 1024 + 4096 + 14336 + 4096.
  const double outputs = 2.0 * (4096 + 1024 + 4096 + 14336 + 4096);
  CHECK(dense(kLlama8b, plan).checkpointed_bytes == 2 * 4096 + outputs);
  CHECK(dense(kLlama8b, plan).recomputed_bytes == dense(kLlama8b, plan).kept_bytes - outputs);
  // All-to-alls of queries, keys, values and the output.
  plan.sequence.ulysses = 8;
  CHECK(dense(kLlama8b, plan).checkpointed_bytes == 2 * 4096 + outputs + 2 * (4096 + 2 * 1024 + 4096));
  // 16 GPUs have two copies of the 8 heads of keys and values.
  plan.n_gpus = plan.sequence.ulysses = 16;
  CHECK(dense(kLlama8b, plan).checkpointed_bytes == 2 * 4096 + outputs + 2 * (4096 + 4 * 1024 + 4096));
  plan.n_gpus = 8;
  // Partial sums of down are of the group's tokens and all columns; the reduce-scatters' outputs are kept
  // too.
  plan.sequence.ulysses = 1;
  plan.tp_degree = 8;
  CHECK(dense(kLlama8b, plan).checkpointed_bytes == 2 * 4096 + outputs + 2 * (7 * 4096 + 2 * 4096));
  // Products of routed experts are recomputed: q, v and the router's stay, with the all-to-alls' outputs.
  ParallelPlan experts{.n_gpus = 8, .ep_degree = 8, .checkpointing = Checkpointing::operations};
  CHECK(expert(kQwen3Moe, experts).checkpointed_bytes ==
        2.0 * (2048 + 4096 + 512 + 4096 + 128 + 2 * 8 * 2048));
  experts.expert_imbalance = 1.5;
  CHECK(expert(kQwen3Moe, experts).checkpointed_bytes ==
        2.0 * (2048 + 4096 + 512 + 4096 + 128 + 1.5 * 2 * 8 * 2048));
}

TEST_CASE("Modules that are recomputed keep their inputs") {
  const auto dropped = [](const Transformer& model, LayerKind kind, LayerModules modules) {
    const ParallelPlan plan{.checkpointing = Checkpointing::modules, .recomputed_modules = modules};
    const LayerActivations bytes = layer_activations(model, plan, kind);
    CHECK(bytes.kept_bytes == bytes.checkpointed_bytes + bytes.recomputed_bytes);
    return bytes.recomputed_bytes;
  };
  const auto of = [](LayerModule module) { return LayerModules(module); };
  // Two norms: of 8 bytes a value the 2 of the input stay.
  CHECK(dropped(kLlama8b, LayerKind::dense, of(LayerModule::layernorm)) == 2 * 6 * 4096);
  CHECK(dropped(kLlama8b, LayerKind::dense, of(LayerModule::mlp)) == 4 * 2 * 14336);
  // Of each of 8 copies the activated gate and the product; all of a copy and of the router.
  CHECK(dropped(kQwen3Moe, LayerKind::expert, of(LayerModule::moe_act)) == 8 * 2 * 2 * 768);
  const ParallelPlan uneven{.expert_imbalance = 1.5,
                            .checkpointing = Checkpointing::modules,
                            .recomputed_modules = LayerModules(LayerModule::moe_act)};
  CHECK(expert(kQwen3Moe, uneven).recomputed_bytes == 1.5 * 8 * 2 * 2 * 768);
  const double router = 4 * 128 + 12 * 8;
  const double copies = 8 * 2.0 * (2 * 2048 + 4 * 768);
  CHECK(dropped(kQwen3Moe, LayerKind::expert, of(LayerModule::moe)) == router + copies);
  CHECK(dropped(kQwen3Moe, LayerKind::expert, LayerModules(LayerModule::moe, LayerModule::moe_act)) ==
        router + copies);
  // Queries and keys of 128 heads of 192, values of 128.
  CHECK(dropped(kDeepseekV2, LayerKind::dense, of(LayerModule::mla_up_proj)) == 2.0 * 128 * (2 * 192 + 128));
}

TEST_CASE("A window changes nothing that a layer keeps") {
  Transformer windowed = kLlama8b;
  windowed.sliding_window_tokens = 4096;
  windowed.n_windowed_layers = 16;
  CHECK(dense(windowed).kept_bytes == dense(kLlama8b).kept_bytes);
}

TEST_CASE("Gradients of activations are those of two hidden and two MLP tensors") {
  CHECK(dense(kLlama8b).gradient_bytes == 2.0 * (2 * 4096 + 2 * 14336));
  CHECK(expert(kQwen3Moe).gradient_bytes == 2.0 * (2 * 2048 + 2 * 8 * 768));
}

TEST_CASE("A layer needs buffers for its largest exchange") {
  CHECK(dense(kLlama8b).exchange_bytes == 0);
  // Ulysses: queries, keys and values in the order they are sent in.
  CHECK(dense(kLlama8b, {.n_gpus = 8, .sequence = {.ulysses = 8}}).exchange_bytes == 2 * (4096 + 2 * 1024));
  // Tensor parallel: the whole group's inputs, and as many partial sums.
  CHECK(dense(kLlama8b, {.n_gpus = 8, .tp_degree = 8}).exchange_bytes == 2 * 2 * 8 * 4096);
  // Ring: two blocks of keys and values in bf16, and of their gradients in fp32.
  CHECK(dense(kLlama8b, {.n_gpus = 8, .sequence = {.ring = 8}}).exchange_bytes == 2 * (2 + 4) * 2 * 1024);
  // Under a window: keys, values and their gradients of all 8 GPUs, and one of them in another order.
  Transformer windowed = kLlama8b;
  windowed.sliding_window_tokens = 1024;
  windowed.n_windowed_layers = 16;
  CHECK(dense(windowed, {.n_gpus = 8, .sequence = {.ring = 8}}).exchange_bytes == 8 * 2 * 5 * 1024);
  // Gathered keys and values: the same in every model.
  const ParallelPlan gathered{.n_gpus = 8, .sequence = {.ring = 8}, .key_exchange = KeyExchange::all_gather};
  CHECK(dense(kLlama8b, gathered).exchange_bytes == 8 * 2 * 5 * 1024);
  CHECK(dense(kLlama8b, gathered).kept_bytes == dense(kLlama8b).kept_bytes);
  // Experts: copies of tokens, sent and received.
  CHECK(expert(kQwen3Moe, {.n_gpus = 8, .ep_degree = 8}).exchange_bytes == 2 * 2 * 8 * 2048);
  // A stage's neighbours, beside it.
  CHECK(dense(kLlama8b, {.n_gpus = 16, .sequence = {.ulysses = 8}, .pp_degree = 2}).exchange_bytes ==
        2 * (4096 + 2 * 1024) + 2 * 2 * 4096);
  // The latent instead of keys and values.
  CHECK(
      dense(kDeepseekV2, {.n_gpus = 8, .sequence = {.ulysses = 8}, .latent_exchange = true}).exchange_bytes ==
      2 * (128 * 192 + 576));
}
