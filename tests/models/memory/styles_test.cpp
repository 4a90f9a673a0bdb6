// What losses and optimizers hold, and the verdicts on a peak.

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "models/memory/peak_memory.hpp"
#include "models/memory/states.hpp"
#include "models/step/step_pricer.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/gibibyte.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/pricing.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

constexpr double kParameters = 8030261248;

ParallelPlan with_optimizer(const OptimizerKind& optimizer) {
  return {.n_gpus = 1, .zero_stage = 0, .execution = {.optimizer = &optimizer, .plain_gradients = true}};
}

Cluster cluster_of(double memory_bytes) {
  return {.name = "",
          .source = "",
          .gpu = {.memory_bytes = static_cast<std::int64_t>(memory_bytes)},
          .gpus_per_node = 1,
          .host_memory_bytes = 1e12};
}

// The reasons why a plan is not possible.
std::string mistakes_of(const ParallelPlan& plan) {
  std::string text;
  for (const PlanMistake& mistake : plan_mistakes(kLlama8b, cluster_of(80e9), plan))
    text += mistake.text() + "\n";
  return text;
}

}  // namespace

TEST_CASE("Optimizers hold what their formats take for each parameter") {
  const auto bytes = [](const OptimizerKind& optimizer) {
    return stage_states(kLlama8b, with_optimizer(optimizer), 0).total_bytes() / kParameters;
  };
  CHECK(bytes(kAdamW) == Approx(2 + 2 + 12));
  CHECK(bytes(kAdamWBf16) == Approx(2 + 2 + 4));
  CHECK(bytes(kAdamWFp32) == Approx(4 + 4 + 8));
  CHECK(bytes(kAdamW8Bit) == Approx(2 + 2 + 2 + 2 * 4.0 / 256));
  CHECK(bytes(kAdafactor) == Approx(2 + 2));
  CHECK(bytes(kLion) == Approx(2 + 2 + 2));
  CHECK(bytes(kMuon) == Approx(2 + 2 + 2));
  // Paged moments are the host's.
  CHECK(bytes(kPagedAdamW) == Approx(2 + 2));
  CHECK(stage_states(kLlama8b, with_optimizer(kPagedAdamW), 0).host_bytes == Approx(8 * kParameters));
}

TEST_CASE("With the optimizer in the backward pass the gradients of one layer exist, or of the embedding") {
  ParallelPlan plan = with_optimizer(kAdamWBf16);
  plan.optimizer_in_backward = true;
  CHECK(stage_states(kLlama8b, plan, 0).gradients_bytes == 2 * 128256.0 * 4096);
  CHECK_THAT(mistakes_of(plan), Catch::Equals(""));
  plan.zero_stage = 1;
  CHECK_THAT(mistakes_of(plan),
             Catch::Contains("optimizer_in_backward: expected false with ZeRO or a pipeline, got true"));
}

TEST_CASE("Only AdamW of whole states is offloaded") {
  ParallelPlan plan = with_optimizer(kLion);
  plan.zero_stage = 1;
  plan.offload = {.optimizer = true};
  CHECK_THAT(mistakes_of(plan),
             Catch::Contains("optimizer: expected AdamW of whole states where the optimizer is "
                             "offloaded, got lion"));
  plan.execution.optimizer = &kAdamWBf16;
  CHECK_THAT(mistakes_of(plan), Catch::Equals(""));
}

TEST_CASE("FSDP keeps fp32 weights in shards and gathers them in bf16") {
  ParallelPlan plan{.n_gpus = 8, .zero_stage = 3, .execution = {.optimizer = &kAdamWFp32}};
  CHECK(stage_states(kLlama8b, plan, 0).total_bytes() == Approx(16 * kParameters / 8));
  // Under ZeRO 2, as FSDP's SHARD_GRAD_OP, bf16 weights are whole and fp32 ones sharded.
  plan.zero_stage = 2;
  CHECK(stage_states(kLlama8b, plan, 0).total_bytes() == Approx((2 + 16.0 / 8) * kParameters));
}

TEST_CASE("A step moves the bytes of its optimizer, and Muon computes beside") {
  const auto optimizer_s = [](const OptimizerKind& optimizer) {
    Pricing pricing(kLlama8b, with_optimizer(optimizer));
    return 1e-9 * static_cast<double>(pricing.pricer.states().optimizer_ns);
  };
  const double adamw_s = optimizer_s(kAdamW);
  CHECK(optimizer_s(kAdamWBf16) == Approx(adamw_s * 14 / 28));
  CHECK(optimizer_s(kLion) == Approx(adamw_s * 10 / 28));
  // Five steps of 4 m^2 n + 2 m^3 flop on each matrix: for q and o m = n = 4096, for k and v m = 1024 and n =
  // 4096, for the MLP m = 4096 and n = 14336. 218 TFLOP in all, at an H100's rate for products of 4096.
  const double flop =
      5.0 * 32 *
      (2 * 6 * std::pow(4096.0, 3) + 2 * (4 * std::pow(1024.0, 2) * 4096 + 2 * std::pow(1024.0, 3)) +
       3 * (4 * std::pow(4096.0, 2) * 14336 + 2 * std::pow(4096.0, 3)));
  const double seconds = optimizer_s(kMuon) - optimizer_s(kLion);
  CHECK(flop / seconds > 400e12);
  CHECK(flop / seconds < 989e12);
  // Paged moments cross the bus both ways.
  CHECK(optimizer_s(kPagedAdamW) > 2 * 8 * kParameters / 64e9);
}

TEST_CASE("The loss holds its logits, and the last norm") {
  const auto logits_bytes = [](const LossStyle& loss, int tp_degree = 1) {
    const ParallelPlan plan{.n_gpus = tp_degree, .tp_degree = tp_degree, .execution = {.loss = &loss}};
    return peak_memory(kLlama8b, cluster_of(80e9), plan, {}, 65536).logits_bytes / 65536;
  };
  // Eager norms keep 8 bytes a value; the output of the norm's product 2 more.
  CHECK(logits_bytes(kUpcastLoss) == Approx(12 * 128256 + (8 + 2) * 4096));
  CHECK(logits_bytes(kPlainLoss) == Approx(8 * 128256 + (8 + 2) * 4096));
  CHECK(logits_bytes(kVocabularyParallelLoss) == Approx(6 * 128256 + (8 + 2) * 4096));
  CHECK(logits_bytes(kInPlaceLoss) == Approx(2 * 128256 + 8 * 4096));
  // Each of 8 GPUs has 8 times its own tokens and an eighth of the vocabulary. PyTorch's loss_parallel holds
  // four tensors of fp32.
  CHECK(logits_bytes(kUpcastLoss, 8) == Approx(16 * 128256 + (8 + 2) * 4096));
  CHECK(logits_bytes(kVocabularyParallelLoss, 8) == Approx(6 * 128256 + (8 + 2) * 4096));
}

TEST_CASE("A peak fits, may not fit, or does not") {
  const ParallelPlan plan{.execution = {.kernels = &kEagerKernels}};
  CHECK(memory_error(plan, {}) == 0.05);
  CHECK(memory_margin(plan, {}) == 0.05);
  // Profiles whose reserved memory was fitted to what fits.
  CHECK(memory_error(plan, {.reserved_bytes = 12e9}) < 0.001);
  ParallelPlan asked = plan;
  asked.memory_margin = 0.2;
  CHECK(memory_margin(asked, {}) == 0.2);
  CHECK(memory_error(asked, {}) == 0.05);

  const Cluster cluster = cluster_of(100e9);
  const auto verdict = [&](double bytes, double host_bytes = 0) {
    return memory_verdict(cluster, {.weights_bytes = bytes, .host_bytes = host_bytes}, 0.05);
  };
  CHECK(verdict(95e9) == MemoryVerdict::fits);
  CHECK(verdict(95.1e9) == MemoryVerdict::may_not_fit);
  CHECK(verdict(105e9) == MemoryVerdict::may_not_fit);
  CHECK(verdict(106e9) == MemoryVerdict::does_not_fit);
  CHECK(verdict(1e9, 2e12) == MemoryVerdict::does_not_fit);
  CHECK(fits(cluster, {.weights_bytes = 95e9}, 0.05));
  CHECK_FALSE(fits(cluster, {.weights_bytes = 95.1e9}, 0.05));
  CHECK(verdict_name(MemoryVerdict::may_not_fit) == "may not fit");
}
