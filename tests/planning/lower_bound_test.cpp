#include "planning/bound/lower_bound.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "models/step/pass/pass_time.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/pricing.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

Transformer windowed() {
  Transformer model = kLlama8b;
  model.sliding_window_tokens = 1024;
  model.n_windowed_layers = 16;
  return model;
}

struct Case {
  Transformer model = kLlama8b;
  ParallelPlan plan;
  double host_link_bytes_per_s = 64e9;
};

std::vector<Case> cases() {
  return {
      {kLlama8b, {.n_gpus = 32, .sequence = {.ulysses = 1}}},
      {kLlama8b, {.n_gpus = 32, .sequence = {.ulysses = 8}, .zero_stage = 3}},
      {kLlama8b,
       {.n_gpus = 32,
        .tp_degree = 2,
        .sequence = {.ulysses = 2, .ring = 2},
        .execution = {.recompute_stops_early = true}}},
      {kLlama8b,
       {.n_gpus = 32,
        .sequence = {.ulysses = 4},
        .zero_stage = 2,
        .execution = {.overlaps_states = false},
        .checkpointing = Checkpointing::selective}},
      {kLlama8b, {.n_gpus = 32, .sequence = {.ulysses = 2}, .lora_rank = 16}},
      {kLlama8b, {.n_gpus = 32, .sequence = {.ulysses = 2}, .checkpointing = Checkpointing::operations}},
      {kLlama8b, {.n_gpus = 32, .tp_degree = 4, .pp_degree = 4, .virtual_stages = 2}},
      {kLlama8b, {.n_gpus = 32, .pp_degree = 4, .zero_stage = 3}},
      {kLlama8b, {.n_gpus = 32, .sequence = {.ulysses = 4}, .zero_stage = 3, .shard_degree = 8}},
      {windowed(), {.n_gpus = 32, .sequence = {.ulysses = 4}}},
      {windowed(), {.n_gpus = 32, .sequence = {.ulysses = 2, .ring = 4}}},
      {kDeepseekV2, {.n_gpus = 128, .sequence = {.ulysses = 8}, .ep_degree = 8, .zero_stage = 3}},
      // Copies take longer than a layer without attention, which hides them in packs of long documents.
      {kLlama8b, {.n_gpus = 32, .offload = {.activations = true}}, 8e9},
  };
}

Cluster cluster_of(int n_gpus, double memory_gib = 80) {
  Cluster cluster = example_cluster();
  cluster.nodes = n_gpus / 8;
  cluster.gpu.memory_bytes = static_cast<std::int64_t>(memory_gib * 0x1p30);
  return cluster;
}

constexpr FrameworkFactors kFactors = {.micro_batch_s = 0.03, .step_s = 0.05};

// What a pack of these documents takes on each GPU of a pipeline stage, with as few checkpointed layers as
// fit.
double pack_s(StepPricer& pricer, const Cluster& cluster, int stage,
              const std::vector<std::int32_t>& lengths) {
  const ParallelPlan& plan = pricer.plan();
  const std::int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  const std::optional<int> gc_layers =
      fewest_gc_layers(pricer.model(), cluster, plan, {}, static_cast<double>(tokens) / plan.sequence_gpus());
  if (!gc_layers) return -1;
  pricer.set_gc_layers(*gc_layers);
  const MicroBatchPrice price = pricer.micro_batch(tokens, lengths);
  std::int64_t pack_ns = 0;
  for (int chunk = stage; chunk < plan.n_chunks(); chunk += plan.pp_degree)
    pack_ns += forward_time(price, pricer.chunk(chunk)).total_ns +
               backward_time(price, pricer.chunk(chunk)).total_ns;
  return 1e-9 * static_cast<double>(pack_ns);
}

std::vector<LengthCount> few_lengths() {
  return {{100, 5000}, {1000, 900}, {7001, 120}, {30000, 12}, {100000, 2}};
}

}  // namespace

TEST_CASE("No pack takes less than its documents' floors, whatever is in it", "[plain]") {
  std::mt19937 generator(5);
  const auto below = [&](int n) { return static_cast<int>(generator() % static_cast<std::uint32_t>(n)); };
  for (const Case& one : cases()) {
    Pricing pricing(one.model, one.plan, kFactors);
    Cluster cluster = cluster_of(one.plan.n_gpus);
    cluster.host_link_bytes_per_s = one.host_link_bytes_per_s;
    REQUIRE(plan_mistakes(one.model, cluster, one.plan).empty());
    const int stage = one.plan.pp_degree - 1;
    const Job job{one.model, cluster, pricing.profile, kFactors};
    StepPricer pricer(one.model, cluster, one.plan, pricing.profile, kFactors);
    // Packs fit here whose estimate leaves nothing free.
    ParallelPlan roomy = one.plan;
    roomy.memory_margin = least_memory_margin(roomy, memory_assumptions(kFactors));
    const PackFloor floor(job, pricer, {.plan = roomy, .stage = stage, .most_tokens = 1 << 17});
    StepPricer other(one.model, cluster, one.plan, pricing.profile, kFactors);
    int n_packs = 0;
    double least_gap = 1e9;
    for (int i = 0; i < 400; ++i) {
      std::vector<std::int32_t> lengths;
      for (int n = 1 + below(1 << below(6)); n > 0; --n) lengths.push_back(1 + below(1 << (4 + below(12))));
      if (std::accumulate(lengths.begin(), lengths.end(), 0) > 1 << 17) continue;
      const double time_s = pack_s(other, cluster, stage, lengths);
      if (time_s < 0) continue;
      ++n_packs;
      double floor_gpu_s = 0;
      for (const std::int32_t length : lengths) {
        CAPTURE(length, lengths.size());
        REQUIRE(floor.holds(length));
        floor_gpu_s += floor.gpu_s(length);
        REQUIRE(floor.alone_s(length) <= time_s);
        SecondsByCause by_cause_s = {};
        floor.add_gpu_s(length, 3, by_cause_s);
        REQUIRE(std::accumulate(by_cause_s.begin(), by_cause_s.end(), 0.0) ==
                Approx(3 * floor.gpu_s(length)));
      }
      REQUIRE(floor_gpu_s <= one.plan.sequence_gpus() * time_s);
      least_gap = std::min(least_gap, one.plan.sequence_gpus() * time_s / floor_gpu_s - 1);
    }
    CHECK(n_packs > 100);
    // Packs near the best number of tokens come close.
    CHECK(least_gap < 0.15);
  }
}

TEST_CASE("A bound's parts add up to it, and are those of one epoch times the epochs") {
  Pricing pricing(kLlama8b, {.n_gpus = 32}, kFactors);
  const Cluster cluster = cluster_of(32);
  const Job job{pricing.model, cluster, pricing.profile, kFactors};
  const ParallelPlan plan{.n_gpus = 32, .zero_stage = 1};
  const BoundSpace space{.tokens_per_iteration = 1 << 19, .most_pack_tokens = 1 << 19};
  const LowerBound bound = *LowerBounds(job, plan, space).at(1, few_lengths());
  CHECK(bound.gpu_s == Approx(std::accumulate(bound.packs_gpu_s.begin(), bound.packs_gpu_s.end(),
                                              bound.steps_gpu_s + bound.waiting_gpu_s)));
  // 500 000 + 900 000 + 840 120 + 360 000 + 200 000 tokens in steps of 524 288.
  CHECK(bound.iterations == 6);
  BoundSpace twice = space;
  twice.epochs = 2;
  CHECK(LowerBounds(job, plan, twice).at(1, few_lengths())->gpu_s == Approx(2 * bound.gpu_s));
}

TEST_CASE("More memory never raises the bound, and less of it forces recomputation", "[plain]") {
  Pricing pricing(kLlama8b, {.n_gpus = 32}, kFactors);
  const BoundSpace space{.tokens_per_iteration = 1 << 19, .most_pack_tokens = 1 << 19};
  double before_s = 0;
  double before_recompute_s = 0;
  for (const double memory_gib : {200.0, 120.0, 80.0, 70.0, 60.0, 56.0, 52.0, 50.0}) {
    const Cluster cluster = cluster_of(32, memory_gib);
    const Job job{pricing.model, cluster, pricing.profile, kFactors};
    const auto bound = LowerBounds(job, {.n_gpus = 32, .zero_stage = 1}, space).at(1, few_lengths());
    if (!bound) continue;
    CHECK(bound->gpu_s >= before_s * (1 - 1e-12));
    before_s = bound->gpu_s;
    before_recompute_s = bound->packs_gpu_s[static_cast<std::size_t>(Cause::recompute)];
  }
  CHECK(before_recompute_s > 0);
}

TEST_CASE("Without recomputation the bound is below that of every kind of checkpointing", "[plain]") {
  Pricing pricing(kLlama8b, {.n_gpus = 32}, kFactors);
  const BoundSpace space{.tokens_per_iteration = 1 << 19, .most_pack_tokens = 1 << 19};
  for (const double memory_gib : {80.0, 60.0, 52.0}) {
    const Cluster cluster = cluster_of(32, memory_gib);
    const Job job{pricing.model, cluster, pricing.profile, kFactors};
    for (const ParallelPlan& whole :
         {ParallelPlan{.n_gpus = 32}, ParallelPlan{.n_gpus = 32, .pp_degree = 2}}) {
      CAPTURE(memory_gib, whole.pp_degree);
      LowerBounds bounds(job, whole, space);
      const double least_s = bounds.gpu_s_without_recomputation(1, few_lengths());
      const LowerBound of_whole = *bounds.at(1, few_lengths());
      CHECK(least_s < of_whole.gpu_s);
      // Where that is enough, a pipeline need not be filled, and the bound may be lower.
      CHECK(bounds.at(1, few_lengths(), 0)->gpu_s <= of_whole.gpu_s);
      for (const Checkpointing kind : {Checkpointing::selective, Checkpointing::operations}) {
        ParallelPlan plan = whole;
        plan.checkpointing = kind;
        const auto bound = LowerBounds(job, plan, space).at(1, few_lengths());
        if (bound) CHECK(least_s <= bound->gpu_s);
      }
      if (whole.pp_degree == 1) continue;
      ParallelPlan interleaved = whole;
      interleaved.virtual_stages = 4;
      CHECK(least_s <= LowerBounds(job, interleaved, space).at(1, few_lengths())->gpu_s);
    }
  }
}

TEST_CASE("What may be in host memory lowers a bound to at most that of every plan that keeps it there",
          "[plain]") {
  Pricing pricing(kLlama8b, {.n_gpus = 32}, kFactors);
  const Cluster cluster = cluster_of(32, 52);
  const Job job{pricing.model, cluster, pricing.profile, kFactors};
  const BoundSpace space{.tokens_per_iteration = 1 << 19, .most_pack_tokens = 1 << 19};
  const ParallelPlan plan{.n_gpus = 32};
  const Offload all{.optimizer = true, .gradients = true, .activations = true};
  const double shared_s = LowerBounds(job, plan, space, nullptr, all).at(1, few_lengths())->gpu_s;
  CHECK(shared_s < LowerBounds(job, plan, space).at(1, few_lengths())->gpu_s);
  for (const Offload& offload : {Offload{.activations = true}, Offload{.optimizer = true}, all}) {
    ParallelPlan own = plan;
    own.offload = offload;
    CHECK(shared_s <= LowerBounds(job, own, space).at(1, few_lengths())->gpu_s);
  }
}

TEST_CASE("There is no bound for a sample that fits nowhere, nor for a ZeRO stage that no plan can have") {
  Pricing pricing(kLlama8b, {.n_gpus = 32}, kFactors);
  const Cluster cluster = cluster_of(32);
  const Job job{pricing.model, cluster, pricing.profile, kFactors};
  const BoundSpace space{.tokens_per_iteration = 1 << 19, .most_pack_tokens = 1 << 28};
  const std::vector<LengthCount> lengths = {{100, 1}, {1 << 28, 1}};
  CHECK_FALSE(LowerBounds(job, {.n_gpus = 32}, space).at(1, lengths));
  LowerBounds pipeline(job, {.n_gpus = 32, .pp_degree = 4}, space);
  CHECK(pipeline.at(1, few_lengths()));
  CHECK(pipeline.at(3, few_lengths()));
  CHECK_FALSE(pipeline.at(4, few_lengths()));
}

TEST_CASE("A ring that a strategy uses is in the search space") {
  Pricing pricing(kLlama8b, {.n_gpus = 32}, kFactors);
  const Cluster cluster = cluster_of(32);
  const Job job{pricing.model, cluster, pricing.profile, kFactors};
  const BoundSpace space{.tokens_per_iteration = 1 << 19, .most_pack_tokens = 1 << 19};
  BoundSpace with_ring = space;
  with_ring.sequences = {{1, 8}, {2, 4}};
  const ParallelPlan plan{.n_gpus = 32, .zero_stage = 1};
  CHECK(LowerBounds(job, plan, with_ring).at(1, few_lengths())->gpu_s <=
        LowerBounds(job, plan, space).at(1, few_lengths())->gpu_s);
}
