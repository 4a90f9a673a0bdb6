#include "models/step/pass/host_wait.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "models/step/pass/pass_time.hpp"
#include "models/step/plan_account.hpp"
#include "models/step/step_pricer.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/pricing.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using Lengths = std::vector<std::int32_t>;

constexpr ChunkShape kEightLayers{.n_dense = 8};

ParallelPlan plan_of(const KernelStyle& style, double launch_s) {
  return {.n_gpus = 1, .execution = {.launch_s = launch_s, .kernels = &style}};
}

std::int64_t both_passes_ns(const MicroBatchPrice& price, const ChunkShape& chunk) {
  return forward_time(price, chunk).total_ns + backward_time(price, chunk).total_ns;
}

// Launches of a layer, forward and backward.
std::array<double, 2> layer_launches(const Transformer& model, const KernelStyle& style,
                                     const ParallelPlan& like = {}) {
  ParallelPlan plan = like;
  plan.execution.kernels = &style;
  Pricing pricing(model, plan);
  const MicroBatchPrice price = pricing.pricer.micro_batch(1024, {});
  const LayerPrices& layer = price.tokens->layers[0];
  return {layer.forward.n_kernels + price.attention_forward.n_kernels,
          layer.backward.n_kernels + price.attention_backward.n_kernels};
}

}  // namespace

TEST_CASE("A GPU that waits for its host takes as long as the launches, another as long as its kernels") {
  const Lengths one = {1};
  Pricing late(kLlama8b, plan_of(kFusedKernels, 1e-3));
  const MicroBatchPrice price = late.pricer.micro_batch(1, one);
  // Forward: 7 products, 2 norms, rope of queries and of keys, attention, swiglu and 2 residual adds = 15.
  // Backward: two products for each of the 7, one kernel for each of the other 8 = 22. The mean of 1 ms is
  // far above what any of them takes.
  CHECK(both_passes_ns(price, kEightLayers) == 8 * (15 + 22) * 1'000'000);
  CHECK(host_wait(price, kEightLayers).lead_ns == 0);
  CHECK(host_wait(price, kEightLayers).launched_s == Approx(8 * 37e-3));

  const Lengths long_one = {1 << 17};
  Pricing in_time(kLlama8b, plan_of(kFusedKernels, 0));
  CHECK(host_wait(late.pricer.micro_batch(1 << 17, long_one), kEightLayers).wait_ns == 0);
  CHECK(both_passes_ns(late.pricer.micro_batch(1 << 17, long_one), kEightLayers) ==
        both_passes_ns(in_time.pricer.micro_batch(1 << 17, long_one), kEightLayers));
}

TEST_CASE("Phases that are taken apart make their GPU wait as long as the micro-batch") {
  for (const double launch_s : {1e-5, 1e-4, 1e-3}) {
    Pricing pricing(kLlama8b, plan_of(kEagerKernels, launch_s));
    const MicroBatchPrice price = pricing.pricer.micro_batch(512, Lengths{300, 212});
    const HostWait whole = host_wait(price, kEightLayers);
    const HostWait apart = host_wait(launched_phases(price, kEightLayers));
    CHECK(apart.wait_ns == whole.wait_ns);
    CHECK(apart.lead_ns == whole.lead_ns);
    CHECK(apart.launched_s == whole.launched_s);
  }
}

TEST_CASE("Launches of a forward pass hide behind a longer backward pass, as far as the queue reaches") {
  MicroBatchPrice price;
  TokenPrices tokens;
  // Per layer: forward 10 us of kernels and 20 us of launches, backward 40 and 20.
  tokens.layers[0].forward.add({.time_ns = 10'000, .n_kernels = 20});
  tokens.layers[0].backward.add({.time_ns = 40'000, .n_kernels = 20});
  price.tokens = &tokens;
  price.host.launch_s = 1e-6;
  // 8 layers: kernels take 400 us and launches 320. The host gains 80 us in each micro-batch, until the queue
  // of 1000 launches is full of three micro-batches, 1.25 us a kernel.
  const HostWait few = host_wait(price, kEightLayers);
  CHECK(few.wait_ns == 0);
  CHECK(static_cast<double>(few.lead_ns) == Approx(1'250'000).epsilon(0.02));
  // 100 layers: the queue of 1000 launches holds the kernels of 50 layers' backward passes, 2 ms. The forward
  // pass is launched in 2 ms and takes 1: the first layers run from the queue, and nothing waits.
  CHECK(host_wait(price, {.n_dense = 100}).wait_ns == 0);
  // 300 layers: 6 ms of launches against 3 ms of kernels and 2 ms of queue: 1 ms of waiting.
  CHECK(host_wait(price, {.n_dense = 300}).wait_ns == 1'000'000);
}

TEST_CASE("A recomputed layer is launched once more, at its own cost") {
  const Lengths one = {1};
  ParallelPlan plan = plan_of(kFusedKernels, 1e-3);
  plan.gc_layers = 8;
  Pricing pricing(kLlama8b, plan);
  ChunkShape chunk = kEightLayers;
  chunk.n_checkpointed = 8;
  CHECK(both_passes_ns(pricing.pricer.micro_batch(1, one), chunk) == 8 * (15 + 22 + 15) * 1'000'000);

  ParallelPlan eager = plan;
  eager.execution.kernels = &kEagerKernels;
  Pricing eager_pricing(kLlama8b, eager);
  const MicroBatchPrice price = eager_pricing.pricer.micro_batch(1, one);
  CHECK(price.host.recomputed_launch_s == Approx(kEagerKernels.recomputed_launch_cost * price.host.launch_s));
}

TEST_CASE("Attention over several documents costs the host of eager code more") {
  Pricing pricing(kLlama8b, plan_of(kEagerKernels, 1e-3));
  const Lengths one = {64};
  const Lengths two = {32, 32};
  const double more_s = host_wait(pricing.pricer.micro_batch(64, two), kEightLayers).launched_s -
                        host_wait(pricing.pricer.micro_batch(64, one), kEightLayers).launched_s;
  CHECK(more_s == Approx(8 * 2 * kEagerKernels.varlen_launches * 1e-3));
}

TEST_CASE("Ring attention of Transformer Engine launches for the ring and for each of its hops") {
  ParallelPlan plan{.n_gpus = 8};
  const auto of_ring = [&](const KernelStyle& style, int ring) {
    plan.sequence.ring = ring;
    return layer_launches(kLlama8b, style, plan);
  };
  const auto [forward, backward] = of_ring(kTransformerEngineKernels, 1);
  for (const int ring : {2, 4, 8}) {
    const auto [more_forward, more_backward] = of_ring(kTransformerEngineKernels, ring);
    CHECK(more_forward - forward == Approx(8 + 8.5 * (ring - 1)));
    CHECK(more_backward - backward == Approx(13 + 10.5 * (ring - 1)));
  }
  // Of others one launch a hop is counted, for its copies.
  const auto [eager_forward, eager_backward] = of_ring(kEagerKernels, 1);
  CHECK(of_ring(kEagerKernels, 4) == std::array<double, 2>{eager_forward + 3, eager_backward + 3});
}

TEST_CASE("Behind ring attention over several documents the host reads where they end, backward") {
  ParallelPlan plan = plan_of(kTransformerEngineKernels, 1e-5);
  plan.n_gpus = 4;
  plan.sequence.ring = 4;
  Pricing pricing(kLlama8b, plan);
  const auto reads = [&](const Lengths& lengths) {
    double sum = 0;
    for (const LaunchedPhases& phases :
         launched_phases(pricing.pricer.micro_batch(32'768, lengths), kEightLayers))
      sum += phases.n_waits;
    return sum;
  };
  CHECK(reads({16'384, 16'384}) == 8);
  CHECK(reads({32'768}) == 0);
  // A host that reads in every layer is never ahead by more than a layer.
  const MicroBatchPrice price = pricing.pricer.micro_batch(32'768, Lengths{16'384, 16'384});
  CHECK(host_wait(price, kEightLayers).most_ahead_ns == 0);
}

TEST_CASE("Styles launch what PyTorch's dispatcher counts, within 5 %") {
  struct Counted {
    const char* family;
    Transformer model;
    double forward;
    double backward;
  };
  Transformer qwen2 = kLlama8b;
  qwen2.qkv_bias = true;
  Transformer qwen3 = kLlama8b;
  qwen3.qk_norm = true;
  Transformer phi3 = kLlama8b;
  phi3.fused_projections = true;
  Transformer gemma2 = kLlama8b;
  gemma2.output_norms = true;
  Transformer gemma3 = gemma2;
  gemma3.qk_norm = true;
  // As tests/python/trainers/test_torch_launches.py counts with transformers 5.23.0 and PyTorch 2.13.0.
  for (const Counted& counted : {Counted{"llama", kLlama8b, 38, 79}, Counted{"qwen2", qwen2, 38, 82},
                                 Counted{"qwen3", qwen3, 54, 111}, Counted{"phi3", phi3, 40, 83},
                                 Counted{"gemma2", gemma2, 62, 115}, Counted{"gemma3", gemma3, 82, 149}}) {
    CAPTURE(counted.family);
    const auto [forward, backward] = layer_launches(counted.model, kEagerKernels);
    CHECK(forward == Approx(counted.forward).epsilon(0.05));
    CHECK(backward == Approx(counted.backward).epsilon(0.05));
  }
  const auto [autocast_forward, autocast_backward] =
      layer_launches(kLlama8b, kEagerKernels, {.execution = {.optimizer = &kAdamWFp32}});
  CHECK(autocast_forward == Approx(48).epsilon(0.05));
  CHECK(autocast_backward == Approx(95).epsilon(0.05));
  const auto [lora_forward, lora_backward] = layer_launches(kLlama8b, kEagerKernels, {.lora_rank = 16});
  CHECK(lora_forward == Approx(94).epsilon(0.05));
  CHECK(lora_backward == Approx(138).epsilon(0.05));
  const auto [fused_forward, fused_backward] = layer_launches(phi3, kEagerKernels, {.lora_rank = 16});
  CHECK(fused_forward == Approx(72).epsilon(0.05));
  CHECK(fused_backward == Approx(115).epsilon(0.05));
}

TEST_CASE("What the GPU waits is at the layers that it waits for, and adds up to the whole") {
  const Lengths lengths = {300, 212};
  ParallelPlan plan = plan_of(kEagerKernels, 2e-5);
  plan.gc_layers = 3;
  Pricing pricing(kLlama8b, plan);
  const ChunkShape chunk{.n_dense = 8, .n_checkpointed = 3, .has_embedding = true, .has_head = true};
  const MicroBatchPrice price = pricing.pricer.micro_batch(512, lengths);
  const HostWait host = host_wait(price, chunk);
  REQUIRE(host.wait_ns > 0);
  CHECK(host.unplaced_ns >= 0);
  CHECK(host.unplaced_ns < 8 * 4);  // a nanosecond for each part
  for (const bool is_forward : {true, false}) {
    const PassList pass(price, chunk, is_forward);
    const WorkTime time = pass_time(pass);
    std::int64_t wait_ns = is_forward ? host.unplaced_ns : 0;
    pass.for_each_part([&](const PassPart& part) {
      if (part.kind != PassPart::Kind::overhead)
        wait_ns += part.times * host.part_wait_ns[place_of(part, is_forward)];
    });
    CHECK(time.by_cause_ns[static_cast<std::size_t>(Cause::host)] == wait_ns);
  }
  const auto waited = [&](bool is_forward) {
    return pass_time(PassList(price, chunk, is_forward)).by_cause_ns[static_cast<std::size_t>(Cause::host)];
  };
  CHECK(waited(true) + waited(false) == host.wait_ns);
}

TEST_CASE("A host that reads a value begins anew, and the GPU waits for what it launches behind") {
  MicroBatchPrice price;
  TokenPrices tokens;
  // A layer: 40 us of kernels, and then 20 launches of 1 us for 10 us of kernels, behind so many waits.
  const auto set_waits = [&](double n_waits) {
    tokens.layers[0].forward = {};
    tokens.layers[0].forward.add({.time_ns = 40'000, .n_kernels = 20});
    tokens.layers[0].forward.add({.time_ns = 10'000, .n_kernels = 20, .n_host_waits = n_waits});
  };
  price.tokens = &tokens;
  price.host.launch_s = 1e-6;
  // Without a wait the host is 10 us ahead in each layer, and nothing waits.
  set_waits(0);
  CHECK(host_wait(price, kEightLayers).wait_ns == 0);
  // With one, 20 us of launches follow it for 10 us of kernels, in each of 8 layers.
  set_waits(1);
  CHECK(host_wait(price, kEightLayers).wait_ns == 8 * 10'000);
  set_waits(5);
  CHECK(host_wait(price, kEightLayers).wait_ns == 8 * 10'000);
  // Behind the wait the kernels take 20 us longer than their launches. That hides the 10 us by which those at
  // the beginning of the next layer, and of the next micro-batch, are launched late.
  tokens.layers[0].forward = {};
  tokens.layers[0].forward.add({.time_ns = 10'000, .n_kernels = 20});
  tokens.layers[0].forward.add({.time_ns = 40'000, .n_kernels = 20, .n_host_waits = 1});
  CHECK(host_wait(price, kEightLayers).wait_ns == 0);
  // The host is ahead by these 20 us at most, however much it gains in a micro-batch.
  CHECK(host_wait(price, kEightLayers).lead_ns == 20'000);
  // With two waits it is ahead by half of what it gains behind them: 10 us, which is just enough.
  tokens.layers[0].forward.segments.back().n_host_waits = 2;
  CHECK(host_wait(price, kEightLayers).wait_ns == 0);
  // With four 5 us, so that each layer waits 5 us.
  tokens.layers[0].forward.segments.back().n_host_waits = 4;
  CHECK(host_wait(price, kEightLayers).wait_ns == 8 * 5'000);
}

TEST_CASE("Who reads the loss launches each micro-batch behind the one before, and so waits more") {
  const Lengths one = {2048};
  std::vector<std::int64_t> waits_ns;
  for (const int reads : {0, 1, 2}) {
    ParallelPlan plan = plan_of(kEagerKernels, kTorchLaunch_s);
    plan.execution.loss_reads = reads;
    Pricing pricing(kLlama8b, plan);
    const MicroBatchPrice price = pricing.pricer.micro_batch(2048, one);
    const ChunkShape chunk{.n_dense = 8, .has_embedding = true, .has_head = true};
    const HostWait host = host_wait(price, chunk);
    CAPTURE(reads);
    CHECK((host.lead_ns > 0) == (reads == 0));
    CHECK(host_wait(launched_phases(price, chunk), reads > 0).wait_ns == host.wait_ns);
    waits_ns.push_back(host.wait_ns);
  }
  CHECK(waits_ns[1] > waits_ns[0]);
  // The head's kernels are long, so that a read before them costs nothing more.
  CHECK(waits_ns[2] == waits_ns[1]);
}

TEST_CASE("Metrics that are read behind the forward pass end the host's lead there") {
  MicroBatchPrice price;
  TokenPrices tokens;
  tokens.layers[0].forward.add({.time_ns = 40'000, .n_kernels = 20});
  tokens.head_backward.add({.time_ns = 10'000, .n_kernels = 20});
  price.tokens = &tokens;
  price.host.launch_s = 1e-6;
  const ChunkShape chunk{.n_dense = 8, .has_head = true};
  // The host is 8 x 20 us ahead behind the forward pass, so that the 10 us of launches of the head that are
  // longer than its kernels hide, unless it waits there.
  price.host.loss_reads = 1;
  CHECK(host_wait(price, chunk).wait_ns == 0);
  price.host.loss_reads = 2;
  CHECK(host_wait(price, chunk).wait_ns == 10'000);
}

TEST_CASE("Units of sharded weights are launched too: a gather in each pass, and a reduction") {
  const Lengths one = {64};
  ParallelPlan plan = plan_of(kFusedKernels, 1e-3);
  plan.n_gpus = 8;
  const auto launched_s = [&](int zero_stage) {
    plan.zero_stage = zero_stage;
    Pricing pricing(kLlama8b, plan);
    const ChunkShape chunk{.n_dense = 8, .has_embedding = true, .has_head = true};
    return host_wait(pricing.pricer.micro_batch(64, one), chunk).launched_s;
  };
  // 8 layers, embedding and head: 4 launches for each of two gathers, and 4 for the gradients.
  CHECK(launched_s(3) - launched_s(1) == Approx(10 * (4 + 4 + 4) * 1e-3));
  plan.execution.shards = &kDeepSpeedZero3;
  CHECK(launched_s(3) - launched_s(1) == Approx(10 * (309 + 309 + 4) * 1e-3));
}

TEST_CASE("The account of a plan has what the host makes its GPUs wait, with the doubt of a launch") {
  const Lengths one = {1};
  ParallelPlan plan = plan_of(kFusedKernels, 1e-3);
  Pricing pricing(kLlama8b, plan);
  const MicroBatchPrice price = pricing.pricer.micro_batch(1, one);
  PlanAccount account(pricing.pricer);
  account.add_micro_batches(price, 2);
  const HostWait host = host_wait(price, pricing.pricer.chunk(0));
  const AccountedTime total = account.total().total(Cause::host);
  CHECK(total.time_s == Approx(2e-9 * static_cast<double>(host.wait_ns)));
}
