#include <catch2/catch.hpp>
#include <cmath>

#include "models/memory/activations.hpp"
#include "models/memory/peak_memory.hpp"
#include "models/memory/states.hpp"
#include "models/memory/weights.hpp"
#include "tests/models/closed_forms.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/gibibyte.hpp"
#include "tests/models/llama_8b.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using packsim_test::kGibibyte;
constexpr double kLlamaParameters = 8030261248;
constexpr double kKept = 209024;  // bytes of a LLaMA-8B layer and token under Ulysses: norms, attention, MLP
constexpr double kKeptAlone = kKept - 8192;  // without the second copy of attention's output
constexpr double kInput = 8192;              // of its checkpoint
constexpr double kGradients = 73728;         // of activations, 2 (2 x 4096 + 2 x 14336)
constexpr MemoryAssumptions kAssumptions{.reserved_bytes = 5e9, .logits_bytes_per_vocab_entry = 4};
constexpr MemoryAssumptions kNothingElse{.reserved_bytes = 0, .logits_bytes_per_vocab_entry = 0};

const Cluster kCluster{.name = "",
                       .source = "",
                       .gpu = {.memory_bytes = static_cast<std::int64_t>(79.6 * kGibibyte)},
                       .nodes = 4,
                       .gpus_per_node = 8,
                       .host_memory_bytes = 2e12};

MemoryPeak llama(const ParallelPlan& plan, double tokens, const MemoryAssumptions& assumptions = kAssumptions,
                 int n_micro_batches = 1) {
  return peak_memory(kLlama8b, kCluster, plan, assumptions, tokens, n_micro_batches);
}

}  // namespace

TEST_CASE("At the loss all activations and the logits are there, as the model of plain plans has it") {
  for (const int gc_layers : {0, 8, 31, 32}) {
    const MemoryPeak peak = llama({.n_gpus = 32,
                                   .sequence = {.ulysses = 4},
                                   .execution = {.fp32_gradients = true},
                                   .gc_layers = gc_layers},
                                  8192);
    const double activations_bytes =
        8192 * (32 - gc_layers) * packsim_test::activation_bytes_per_token(kLlama8b, true);
    const double checkpoints_bytes = 8192 * gc_layers * 2.0 * 4096;
    const double logits_bytes = 8192 * 128256 * *kAssumptions.logits_bytes_per_vocab_entry;
    CHECK(peak.moment == PeakMoment::loss);
    CHECK(peak.activations_bytes == Approx(activations_bytes).epsilon(1e-12));
    CHECK(peak.checkpoints_bytes == checkpoints_bytes);
    CHECK(peak.logits_bytes == Approx(logits_bytes).epsilon(1e-12));
    CHECK(peak.total_bytes() == Approx(packsim_test::model_state_bytes(kLlama8b, 1, 32) + activations_bytes +
                                       checkpoints_bytes + logits_bytes + *kAssumptions.reserved_bytes)
                                    .epsilon(1e-12));
  }
}

TEST_CASE("Where the loss needs no room, the peak is in the backward pass of a layer") {
  const MemoryAssumptions fused{.reserved_bytes = 0, .logits_bytes_per_vocab_entry = 0};
  const ParallelPlan plan{
      .n_gpus = 32, .sequence = {.ulysses = 8}, .execution = {.fp32_gradients = true}, .gc_layers = 32};
  // All checkpointed: 32 inputs and the last layer, recomputed; its gradients and its all-to-all's buffers.
  const MemoryPeak peak = llama(plan, 8192, fused);
  CHECK(peak.moment == PeakMoment::backward);
  CHECK(peak.checkpoints_bytes == 8192 * 32 * kInput);
  CHECK(peak.recomputed_bytes == 8192 * kKept);
  CHECK(peak.activation_gradient_bytes == 8192 * kGradients);
  CHECK(peak.exchange_bytes == 8192 * 2 * (4096 + 2 * 1024.0));
  CHECK(peak.activations_bytes == 0);
  CHECK(peak.logits_bytes == 0);

  // 8 checkpointed: the last layer's backward pass, with all 24 that keep everything still there.
  ParallelPlan some = plan;
  some.gc_layers = 8;
  const MemoryPeak early = llama(some, 8192, fused);
  CHECK(early.moment == PeakMoment::backward);
  CHECK(early.activations_bytes == 8192 * 24 * kKept);
  CHECK(early.recomputed_bytes == 0);
}

TEST_CASE("Without tokens the optimizer's step needs most") {
  const MemoryPeak peak = llama({.n_gpus = 32, .zero_stage = 1}, 0);
  CHECK(peak.moment == PeakMoment::optimizer_step);
  // 4 bytes of weights and gradients, 12 / 32 of states and 4 / 32 of fp32 gradients.
  CHECK(peak.total_bytes() == Approx(kLlamaParameters * (4 + 16.0 / 32) + 5e9));
  CHECK(moment_name(peak.moment) == "optimizer step");
  CHECK(moment_name(PeakMoment::loss) == "loss");
  CHECK(moment_name(PeakMoment::backward) == "backward");
}

TEST_CASE("ZeRO-3 holds the gathered weights of two layers, at the loss of the head and a layer") {
  const double layer = 2 * kLlama8b.layer_parameters();
  const double head = 2 * 128256.0 * 4096;
  const ParallelPlan plan{.n_gpus = 32, .zero_stage = 3, .gc_layers = 32};
  const MemoryPeak loss = llama(plan, 8192);
  REQUIRE(loss.moment == PeakMoment::loss);
  CHECK(loss.gathered_weights_bytes == head + layer);
  const MemoryPeak backward = llama(plan, 8192, kNothingElse);
  REQUIRE(backward.moment == PeakMoment::backward);
  CHECK(backward.gathered_weights_bytes == 2 * layer);
  CHECK(llama({.n_gpus = 32, .zero_stage = 2}, 8192).gathered_weights_bytes == 0);
  CHECK(peak_memory(kLlama8b, kCluster, {.n_gpus = 1, .zero_stage = 3}, kNothingElse, 8192)
            .gathered_weights_bytes == 0);
  // Experts that nobody else holds need no gathering: 64 GPUs hold 64 parts of them.
  const ParallelPlan alone{.n_gpus = 64, .ep_degree = 64, .zero_stage = 3};
  ParallelPlan shared = alone;
  shared.ep_degree = 32;
  const double experts = 128.0 * 3 * 2048 * 768;
  const auto gathered = [](const ParallelPlan& with) {
    return peak_memory(kQwen3Moe, kCluster, with, kNothingElse, 8192).gathered_weights_bytes;
  };
  CHECK(gathered(shared) - gathered(alone) == Approx(2 * 2 * experts / 32));
}

TEST_CASE("Offloaded weights and gradients leave the GPU but for what passes need") {
  ParallelPlan plan{.n_gpus = 8, .zero_stage = 3, .gc_layers = 32, .offload = {.optimizer = true}};
  const MemoryPeak before = llama(plan, 8192, kNothingElse);
  plan.offload.weights = true;
  const MemoryPeak weights = llama(plan, 8192, kNothingElse);
  REQUIRE(weights.moment == PeakMoment::backward);
  CHECK(weights.weights_bytes == 0);
  // Beside two gathered layers there are their shards, just copied.
  CHECK(weights.gathered_weights_bytes == Approx(before.gathered_weights_bytes * 9 / 8));
  CHECK(weights.host_bytes == Approx(before.host_bytes + 2 * kLlamaParameters));
  plan.offload.gradients = true;
  const MemoryPeak both = llama(plan, 8192, kNothingElse);
  CHECK(both.gradients_bytes == 0);
  CHECK(both.bucket_bytes == before.bucket_bytes);
  CHECK(both.host_bytes == weights.host_bytes);  // the fp32 gradients were there already
  // One GPU copies layers as many gather them.
  plan.n_gpus = 1;
  const MemoryPeak one = llama(plan, 8192, kNothingElse);
  CHECK(one.gathered_weights_bytes == before.gathered_weights_bytes);
  CHECK(one.bucket_bytes == before.bucket_bytes);
  CHECK(one.host_bytes == Approx(18 * kLlamaParameters));
}

TEST_CASE("Offloaded inputs of checkpointed layers are in the host's memory, but for two") {
  ParallelPlan plan{.n_gpus = 16, .sequence = {.ulysses = 8}, .gc_layers = 32};
  const MemoryPeak before = llama(plan, 8192, kNothingElse);
  plan.offload.activations = true;
  const MemoryPeak after = llama(plan, 8192, kNothingElse);
  CHECK(before.checkpoints_bytes == 32 * 8192 * kInput);
  CHECK(after.checkpoints_bytes == 2 * 8192 * kInput);
  CHECK(after.total_bytes() == before.total_bytes() - 30 * 8192 * kInput);
  // All 8 GPUs of a node have them.
  CHECK(after.host_bytes == 8 * 32 * 8192 * kInput);
  Cluster small = kCluster;
  small.host_memory_bytes = after.host_bytes - 1;
  CHECK_FALSE(fits(small, after));
  small.host_memory_bytes = after.host_bytes;
  CHECK(fits(small, after));
  // Nothing is checkpointed, nothing leaves.
  plan.gc_layers = 0;
  CHECK(llama(plan, 8192, kNothingElse).host_bytes == 0);
  // The first of 4 pipeline stages holds 4 micro-batches of 8 layers.
  const ParallelPlan stages{.n_gpus = 32, .pp_degree = 4, .gc_layers = 32, .offload = {.activations = true}};
  const MemoryPeak peak = llama(stages, 8192, kNothingElse, 8);
  CHECK(peak.checkpoints_bytes == 2 * 8192 * kInput);
  CHECK(peak.host_bytes == 8 * 4 * 8 * 8192 * kInput);
}

TEST_CASE("With a pipeline, sharded weights and gradients are whole from the first pass to the last") {
  const auto peak = [](int zero_stage, double tokens, bool fp32_gradients = false) {
    return llama({.n_gpus = 32,
                  .pp_degree = 4,
                  .zero_stage = zero_stage,
                  .execution = {.fp32_gradients = fp32_gradients},
                  .gc_layers = 32},
                 tokens, kNothingElse, 8);
  };
  const double stage = 8 * kLlama8b.layer_parameters() + 128256.0 * 4096;  // the first
  for (const bool fp32 : {false, true}) {
    const MemoryPeak backward = peak(3, 8192, fp32);
    REQUIRE(backward.moment == PeakMoment::backward);
    REQUIRE(backward.stage == 0);
    CHECK(backward.weights_bytes == Approx(2 * stage / 8));
    CHECK(backward.gathered_weights_bytes == Approx(2 * stage));
    CHECK(backward.gradients_bytes == Approx((fp32 ? 4 : 2) * stage));
    CHECK(peak(2, 8192, fp32).gradients_bytes == peak(1, 8192, fp32).gradients_bytes);
  }
  // Between the passes of two steps, 16 / 8 bytes of each parameter are left.
  const ParallelPlan plan{.n_gpus = 32, .pp_degree = 4, .zero_stage = 3};
  CHECK(stage_states(kLlama8b, plan, 0).total_bytes() == Approx(16 * stage / 8));
}

TEST_CASE("Gradients that are sharded fill one bucket while another travels") {
  ParallelPlan plan{.n_gpus = 32, .zero_stage = 2, .execution = {.bucket_elements = 200'000'000}};
  CHECK(llama(plan, 8192).bucket_bytes == 2 * 2 * 2e8);
  plan.execution.fp32_gradients = true;
  CHECK(llama(plan, 8192).bucket_bytes == 2 * 4 * 2e8);
  plan.zero_stage = 3;
  CHECK(llama(plan, 8192).bucket_bytes == 2 * 4 * 2e8);
  plan.lora_rank = 16;  // 41.9 M adapters are all that there is
  CHECK(llama(plan, 8192).bucket_bytes == 2 * 4 * 41943040.0);
  plan = {.n_gpus = 32, .zero_stage = 1};
  CHECK(llama(plan, 8192).bucket_bytes == 0);
  plan = {.n_gpus = 1, .zero_stage = 2};
  CHECK(llama(plan, 8192).bucket_bytes == 0);  // nobody to send them to
}

TEST_CASE("The first stage of a pipeline holds most activations, the last one the logits") {
  // 4 stages of 8 layers and 8 micro-batches: 4 x 8 layers on the first stage, 8 on the last.
  const ParallelPlan plan{.n_gpus = 32, .pp_degree = 4, .zero_stage = 1};
  const MemoryPeak first = llama(plan, 8192, kNothingElse, 8);
  CHECK(first.stage == 0);
  CHECK(first.moment == PeakMoment::backward);
  CHECK(first.activations_bytes == 4 * 8 * 8192 * kKeptAlone);
  CHECK(first.exchange_bytes == 8192 * 2 * 2 * 4096.0);
  const MemoryPeak last = llama(plan, 8192, {.logits_bytes_per_vocab_entry = 100}, 8);
  CHECK(last.stage == 3);
  CHECK(last.moment == PeakMoment::loss);
  CHECK(last.activations_bytes == 8 * 8192 * kKeptAlone);
  // One micro-batch is on one stage at a time.
  CHECK(llama(plan, 8192, kNothingElse, 1).activations_bytes == 8 * 8192 * kKeptAlone);

  // Interleaved in two chunks of 4: 2 x 3 + 4 + 1 = 11 chunks of 4 layers.
  ParallelPlan interleaved = plan;
  interleaved.virtual_stages = 2;
  CHECK(llama(interleaved, 8192, kNothingElse, 8).activations_bytes == 11 * 4 * 8192 * kKeptAlone);
}

TEST_CASE(
    "A checkpointed stage recomputes a layer of one micro-batch while it holds the inputs of the others") {
  const ParallelPlan plan{.n_gpus = 32, .pp_degree = 4, .zero_stage = 1, .gc_layers = 32};
  const MemoryPeak peak = llama(plan, 8192, kNothingElse, 8);
  CHECK(peak.stage == 0);
  CHECK(peak.checkpoints_bytes == 4 * 8 * 8192 * kInput);
  CHECK(peak.recomputed_bytes == 8192 * kKeptAlone);
}

TEST_CASE(
    "Selective checkpointing drops one output of Ulysses, which comes back while the layer is at work") {
  ParallelPlan plan{
      .n_gpus = 32, .sequence = {.ulysses = 8}, .gc_layers = 32, .checkpointing = Checkpointing::selective};
  const MemoryPeak peak = llama(plan, 8192, kNothingElse);
  CHECK(peak.checkpoints_bytes == 0);
  CHECK(peak.activations_bytes == 8192 * 32 * (kKept - kInput));
  CHECK(peak.recomputed_bytes == 8192 * kInput);  // as wide as the layer's input
}

TEST_CASE("Checkpointing by operation keeps outputs as activations and recomputes the rest") {
  ParallelPlan plan{.n_gpus = 32, .gc_layers = 32, .checkpointing = Checkpointing::operations};
  const MemoryPeak peak = llama(plan, 8192, kNothingElse);
  const double outputs = 2.0 * (4096 + 1024 + 4096 + 14336 + 4096);
  CHECK(peak.checkpoints_bytes == 0);
  CHECK(peak.activations_bytes == 8192 * 32 * (kInput + outputs));
  CHECK(peak.recomputed_bytes == 8192 * (kKeptAlone - outputs));
}

TEST_CASE("Frozen matrices of 4 bits take 0.516 bytes each, and one of them is in bf16 at a time") {
  ParallelPlan plan{.n_gpus = 8, .lora_rank = 16};
  const double matrices = 32.0 * (kLlama8b.layer_parameters() - 2 * 4096);
  const MemoryPeak plain = llama(plan, 65536, kNothingElse);
  REQUIRE(plain.moment == PeakMoment::backward);
  plan.frozen_weights = &kNf4;
  const MemoryPeak packed = llama(plan, 65536, kNothingElse);
  // 4 bits, an 8-bit scale for 64 values and an fp32 one for 256 of these.
  CHECK(plain.weights_bytes - packed.weights_bytes == Approx((2 - 0.5 - 1 / 64.0 - 4 / 16384.0) * matrices));
  CHECK(packed.gathered_weights_bytes == 2.0 * 4096 * 14336);
  CHECK(packed.optimizer_bytes == plain.optimizer_bytes);
}

TEST_CASE("Adapters beside chosen modules take their own memory") {
  ParallelPlan all{.n_gpus = 8, .zero_stage = 0, .lora_rank = 16};
  ParallelPlan some = all;
  some.lora_targets.add(0);  // q_proj
  some.lora_targets.add(2);  // v_proj
  // Rank 16 x (in + out) of q and v, in 32 layers.
  const double trained = 32 * 16.0 * (4096 + 4096 + 4096 + 1024);
  CHECK(llama(some, 1024).gradients_bytes == 2 * trained);
  CHECK(llama(some, 1024).optimizer_bytes >= 12 * trained);
  CHECK(llama(some, 1024).activations_bytes < llama(all, 1024).activations_bytes);
}

TEST_CASE("Quantised weights take two bytes each, of gathered layers too") {
  const double matrices = 32.0 * (kLlama8b.layer_parameters() - 2 * 4096);
  ParallelPlan plan{.n_gpus = 8};
  const double plain = llama(plan, 1024).weights_bytes;
  plan.precision = Precision::fp8_delayed;
  CHECK(llama(plan, 1024).weights_bytes == Approx(plain + 2 * matrices));
  // ZeRO 3 keeps its shards in bf16. Two layers are there: gathered in bf16 with two copies, or in fp8 with
  // one.
  plan = {.n_gpus = 8, .zero_stage = 3};
  const MemoryPeak sharded = llama(plan, 65536, kNothingElse);
  REQUIRE(sharded.moment == PeakMoment::backward);
  plan.precision = Precision::fp8_current;
  CHECK(llama(plan, 65536, kNothingElse).weights_bytes == sharded.weights_bytes);
  CHECK(llama(plan, 65536, kNothingElse).gathered_weights_bytes ==
        Approx(2 * sharded.gathered_weights_bytes));
  plan.fp8_gather = true;
  CHECK(llama(plan, 65536, kNothingElse).gathered_weights_bytes == Approx(sharded.gathered_weights_bytes));
}

TEST_CASE("With a pipeline, gathered weights are there as they arrived, and a layer's as it needs them") {
  ParallelPlan plan{.n_gpus = 32, .pp_degree = 4, .zero_stage = 3, .gc_layers = 32};
  const auto gathered = [&] {
    const MemoryPeak peak = llama(plan, 8192, kNothingElse, 8);
    REQUIRE(peak.moment == PeakMoment::backward);
    REQUIRE(peak.stage == 0);
    return peak.gathered_weights_bytes;
  };
  const double others = 2 * (8 * 2.0 * 4096 + 128256.0 * 4096);  // norms of 8 layers, and the embedding
  const double layer = kLlama8b.layer_parameters() - 2.0 * 4096;
  CHECK(gathered() == Approx(others + 8 * 2 * layer));
  // A layer's fp8 copies, as they are and transposed; or all arrive in fp8, and one layer's is transposed.
  plan.precision = Precision::fp8_current;
  CHECK(gathered() == Approx(others + 8 * 2 * layer + 2 * layer));
  plan.fp8_gather = true;
  CHECK(gathered() == Approx(others + 8 * layer + layer));
  plan = {.n_gpus = 32,
          .pp_degree = 4,
          .zero_stage = 3,
          .gc_layers = 32,
          .lora_rank = 16,
          .frozen_weights = &kNf4};
  const double adapters = stage_adapters(kLlama8b, plan, 0).total();
  CHECK(gathered() == Approx(others + 2 * adapters + 8 * kNf4Bytes * layer + 2.0 * 4096 * 14336));
}

TEST_CASE("Frozen weights of 4 bits are so in the host's memory and in the shards of some GPUs too") {
  ParallelPlan plan{.n_gpus = 8, .zero_stage = 3, .lora_rank = 16};
  const double saved = (2 - kNf4Bytes) * 32 * (kLlama8b.layer_parameters() - 2 * 4096);
  const auto saves = [&](auto bytes, double expected) {
    plan.frozen_weights = &kFrozenBf16;
    const double plain = bytes(stage_states(kLlama8b, plan, 0));
    plan.frozen_weights = &kNf4;
    CHECK(plain - bytes(stage_states(kLlama8b, plan, 0)) == Approx(expected).margin(1e-3));
  };
  const auto on_gpu = [](const StateBytes& states) { return states.weights_bytes; };
  saves(on_gpu, saved / 8);
  plan.shard_degree = 4;
  saves(on_gpu, saved / 4);
  plan.offload = {.optimizer = true, .weights = true};
  saves(on_gpu, 0);
  saves([](const StateBytes& states) { return states.host_bytes; }, saved / 4);
}

TEST_CASE("What is offloaded must fit into the node") {
  const ParallelPlan plan{.n_gpus = 32, .zero_stage = 1, .offload = {.optimizer = true}};
  const MemoryPeak peak = llama(plan, 1024);
  // 8 GPUs of a node have 8 of the 32 shards.
  CHECK(peak.host_bytes == Approx(16 * kLlamaParameters * 8 / 32));
  CHECK(peak.optimizer_bytes == 0);
  CHECK(fits(kCluster, peak));
  Cluster small = kCluster;
  small.host_memory_bytes = 30e9;
  CHECK_FALSE(fits(small, peak));
  CHECK(fewest_gc_layers(kLlama8b, small, plan, kAssumptions, 1024) == std::nullopt);
  small.host_memory_bytes = std::nullopt;
  CHECK(fits(small, peak));
  // One GPU of a node that has eight.
  CHECK(llama({.offload = {.optimizer = true}}, 1024).host_bytes == 16 * kLlamaParameters);
  CHECK(llama({.n_gpus = 32}, 1024).host_bytes == 0);
  // Of a pipeline the stage that offloads most, here the last one: head and last norm. The peak is the
  // first's.
  const ParallelPlan stages{.n_gpus = 32, .pp_degree = 4, .zero_stage = 1, .offload = {.optimizer = true}};
  const MemoryPeak first = llama(stages, 8192, kNothingElse, 8);
  CHECK(first.stage == 0);
  CHECK(first.host_bytes ==
        Approx(16 * (8 * kLlama8b.layer_parameters() + 128256.0 * 4096 + 4096)).epsilon(1e-9));
}

TEST_CASE("A token of a checkpointed LLaMA-8B takes what was published for fused kernels, within 5 %") {
  // stas00/ml-engineering, insights/when-to-upgrade-gpus: 8 H200, ZeRO-3, optimizer on the host, all layers
  // checkpointed, Liger's kernels and loss: 37.5 GiB of a GPU at 64 Ki tokens, 124.5 GiB at 256 Ki.
  const double published = (124.5 - 37.5) * kGibibyte / (192 * 1024);  // 475 KB
  const ParallelPlan plan{.n_gpus = 8,
                          .zero_stage = 3,
                          .execution = {.kernels = &kLigerKernels, .loss = &kFusedLoss},
                          .gc_layers = 32,
                          .offload = {.optimizer = true}};
  const MemoryAssumptions liger{};
  const double predicted =
      (llama(plan, 256 * 1024, liger).total_bytes() - llama(plan, 64 * 1024, liger).total_bytes()) /
      (192 * 1024);
  // 32 inputs, one layer of 139 392 bytes and 73 728 of gradients: 475 KB.
  CHECK(predicted == Approx(32 * kInput + 139392 + kGradients));
  CHECK(predicted == Approx(published).epsilon(0.05));
  // What is left at 64 Ki is context, NCCL and fragmentation.
  const double rest = 37.5 * kGibibyte - llama(plan, 64 * 1024, liger).total_bytes();
  CHECK(rest > 0);
  CHECK(rest < 5 * kGibibyte);
}

TEST_CASE("The fewest checkpointed layers fit, and one fewer does not") {
  ParallelPlan plan{.n_gpus = 32, .zero_stage = 2};
  for (const double tokens : {9000.0, 12000.0, 16384.0, 24000.0}) {
    plan.gc_layers = fewest_gc_layers(kLlama8b, kCluster, plan, kAssumptions, tokens).value();
    REQUIRE(plan.gc_layers > 0);
    CHECK(fits(kCluster, llama(plan, tokens)));
    --plan.gc_layers;
    CHECK_FALSE(fits(kCluster, llama(plan, tokens)));
  }
  CHECK(fewest_gc_layers(kLlama8b, kCluster, plan, kAssumptions, 1024) == 0);
  CHECK(fewest_gc_layers(kLlama8b, kCluster, plan, kAssumptions, 1e6) == std::nullopt);
}

TEST_CASE("Amounts that cannot be are refused") {
  CHECK_THROWS_WITH(llama({}, -1), Catch::Contains("tokens_per_gpu"));
  CHECK_THROWS_AS(llama({}, std::nan("")), std::invalid_argument);
  CHECK_THROWS_WITH(llama({}, 1, {}, 0), Catch::Contains("n_micro_batches"));
  CHECK_THROWS_WITH(llama({.gc_layers = 33}, 1), Catch::Contains("gc_layers"));
  CHECK_THROWS_WITH(llama({.gc_layers = -1}, 1), Catch::Contains("gc_layers"));
}

TEST_CASE("torch's own gradients grow from the head to the embedding, and are never copied to fp32") {
  // 4 of the 32 layers of LLaMA-3.1-8B with embedding and head: 1.92 G parameters, as measured on an H100.
  Transformer model = kLlama8b;
  model.n_layers = 4;
  const auto peak = [&](bool plain, int gc_layers, double tokens, int n_micro_batches) {
    const ParallelPlan plan{.execution = {.plain_gradients = plain}, .gc_layers = gc_layers};
    return peak_memory(model, kCluster, plan, kNothingElse, tokens, n_micro_batches);
  };
  const double parameters = model.parameters();
  const double head = 128256.0 * 4096;

  // Few tokens: the optimizer step is the peak. 2 + 2 + 12 bytes a parameter, and 4 for the copy of another.
  CHECK(peak(true, 4, 16, 1).total_bytes() == Approx(16 * parameters));
  CHECK(peak(false, 4, 16, 1).total_bytes() == Approx(20 * parameters));

  // Many: the backward pass of the last layer, where the gradients of head and layer are all there are.
  const MemoryPeak large = peak(true, 4, 65536, 1);
  CHECK(large.moment == PeakMoment::backward);
  CHECK(large.gradients_bytes == Approx(2 * (head + layer_weights(model, {}, LayerKind::dense).total())));
  CHECK(peak(false, 4, 65536, 1).gradients_bytes == Approx(2 * parameters));
  // A second micro-batch adds to gradients that are all there.
  CHECK(peak(true, 4, 65536, 2).gradients_bytes == Approx(2 * parameters));
  // Never more than with a buffer.
  for (const int gc_layers : {0, 2, 4})
    for (const double tokens : {16.0, 4096.0, 65536.0})
      for (const int n : {1, 3})
        CHECK(peak(true, gc_layers, tokens, n).total_bytes() <=
              peak(false, gc_layers, tokens, n).total_bytes());
}
