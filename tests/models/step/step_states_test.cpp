#include <catch2/catch.hpp>
#include <random>

#include "models/kernels/make_case.hpp"
#include "models/memory/states.hpp"
#include "models/memory/weights.hpp"
#include "models/step/pass/pass_time.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/pricing.hpp"
#include "tests/models/uneven_chunks.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

// Of a stage: the states of all its chunks.
struct Sums {
  double gather_bytes = 0;
  double reduce_bytes = 0;
};
Sums sums(StepPricer& pricer, int stage) {
  Sums sums;
  const ParallelPlan& plan = pricer.plan();
  for (int chunk = stage; chunk < plan.pp_degree * plan.virtual_stages; chunk += plan.pp_degree) {
    for (const StateUnit& unit : pricer.states(chunk).units) {
      sums.gather_bytes += static_cast<double>(unit.gather_bytes);
      sums.reduce_bytes += static_cast<double>(unit.reduce_bytes);
    }
  }
  return sums;
}

std::vector<ParallelPlan> random_plans(const Transformer& model, std::uint32_t seed, std::size_t n) {
  std::mt19937 generator(seed);
  const auto power = [&](int most) { return 1 << generator() % static_cast<std::uint32_t>(most); };
  std::vector<ParallelPlan> plans;
  while (plans.size() < n) {
    ParallelPlan plan{.n_gpus = 8 * power(5),
                      .tp_degree = power(4),
                      .sequence = {.ulysses = power(4), .ring = power(2)},
                      .pp_degree = power(3)};
    plan.virtual_stages = plan.pp_degree > 1 ? power(3) : 1;
    plan.ep_degree = model.has_experts() ? power(5) : 1;
    plan.zero_stage = static_cast<int>(generator() % 4);
    plan.execution.bucket_elements = 1 + static_cast<std::int64_t>(generator() % 2'000'000'000);
    plan.execution.fp32_gradients = generator() % 2 == 0;
    plan.lora_rank = generator() % 3 == 0 ? 16 : 0;
    if (generator() % 2 == 0) plan.chunk_layers = uneven_chunks(model.n_layers, plan.n_chunks(), generator);
    if (plan_mistakes(model, example_cluster(), plan).empty()) plans.push_back(plan);
  }
  return plans;
}

}  // namespace

TEST_CASE("Units hold every layer once, in order, and travel with all that the memory model counts") {
  Transformer tied = kLlama8b;
  tied.tied_embeddings = true;
  for (const Transformer& model : {kLlama8b, tied, kDeepseekV2, kQwen3Moe}) {
    for (const ParallelPlan& plan : random_plans(model, 7, 60)) {
      Pricing pricing(model, plan);
      CAPTURE(model.name, plan.tp_degree, plan.pp_degree, plan.virtual_stages, plan.ep_degree,
              plan.zero_stage, plan.lora_rank);
      for (int chunk = 0; chunk < plan.pp_degree * plan.virtual_stages; ++chunk) {
        const ChunkShape shape = pricing.pricer.chunk(chunk);
        const StatesPrice& states = pricing.pricer.states(chunk);
        int next_layer = 0;
        for (std::size_t i = 0; i < states.units.size(); ++i) {
          const StateUnit& unit = states.units[i];
          REQUIRE((unit.n_layers == 0 || unit.first_layer == next_layer));
          next_layer += unit.n_layers;
          REQUIRE(unit.has_embedding == (shape.has_embedding && i == 0));
          REQUIRE(unit.has_head == (shape.has_head && i + 1 == states.units.size()));
          if (plan.zero_stage == 3)
            REQUIRE(unit.n_layers + (unit.has_embedding ? 1 : 0) + (unit.has_head ? 1 : 0) == 1);
        }
        REQUIRE(next_layer == shape.n_layers());
        REQUIRE(states.gpus == plan.n_gpus / (plan.tp_degree * plan.pp_degree));
        REQUIRE(states.stride == plan.tp_degree);
      }
      for (int stage = 0; stage < plan.pp_degree; ++stage) {
        const double trained = trained_elements(model, plan, stage);
        double weights = stage_weights(model, plan, stage).total();
        if (plan.lora_rank > 0) weights += trained;
        const Sums travel = sums(pricing.pricer, stage);
        REQUIRE(travel.reduce_bytes == Approx((plan.execution.fp32_gradients ? 4 : 2) * trained));
        const double gathered = plan.zero_stage == 0 ? 0 : plan.zero_stage == 3 ? weights : trained;
        REQUIRE(travel.gather_bytes == Approx(2 * gathered));
      }
    }
  }
}

TEST_CASE("LLaMA 8B without tensor parallelism: 2 bytes of each of 8 030 261 248 parameters") {
  for (const int zero_stage : {1, 2, 3}) {
    Pricing pricing(kLlama8b, {.n_gpus = 32, .zero_stage = zero_stage});
    const Sums travel = sums(pricing.pricer, 0);
    CHECK(travel.gather_bytes == 2.0 * 8'030'261'248);
    CHECK(travel.reduce_bytes == 2.0 * 8'030'261'248);
  }
}

TEST_CASE("Buckets fill from the end of the model on") {
  Pricing pricing(kLlama8b, {.n_gpus = 32, .zero_stage = 1});
  const std::vector<StateUnit>& units = pricing.pricer.states().units;
  // Layers of 218 112 000 parameters, embedding and head of 525 336 576: the head is over 500 million, then
  // three layers each, the last two with the embedding.
  REQUIRE(units.size() == 12);
  CHECK(units[11].has_head);
  CHECK(units[11].n_layers == 0);
  for (std::size_t i = 1; i < 11; ++i) CHECK(units[i].n_layers == 3);
  CHECK(units[0].n_layers == 2);
  CHECK(units[0].has_embedding);
  CHECK(units[5].reduce_bytes == 2 * 3 * 218'112'000);
  // 654 million parameters travel in two collectives of a half each; all 32 GPUs are on four nodes.
  const std::int64_t half = 3 * 218'112'000;
  CHECK(std::abs(units[5].reduce_ns - 2 * pricing.ns(collective_case("reduce_scatter", 32, 4, half))) <= 1);
  CHECK(std::abs(units[5].gather_ns - 2 * pricing.ns(collective_case("all_gather", 32, 4, half))) <= 1);
}

TEST_CASE("ZeRO 0 adds gradients up everywhere and gathers nothing; one GPU exchanges nothing") {
  Pricing pricing(
      kLlama8b,
      {.n_gpus = 16, .tp_degree = 2, .zero_stage = 0, .execution = {.bucket_elements = 1'000'000'000'000}});
  const StatesPrice& states = pricing.pricer.states();
  REQUIRE(states.units.size() == 1);
  CHECK(states.units[0].gather_ns == 0);
  // 8 GPUs, each two apart, hold the same half.
  const auto bytes = states.units[0].reduce_bytes;
  CHECK(states.units[0].reduce_ns == pricing.ns(collective_case("all_reduce", 8, 2, bytes)));
  // Every GPU updates all that it has: a half of the matrices and of the vocabulary, all 65 norms.
  const std::int64_t norms = 65 * 4096;
  const std::int64_t elements = (8'030'261'248 - norms) / 2 + norms;
  CHECK(bytes == 2 * elements);
  CHECK(states.optimizer_ns == pricing.ns(adamw_case(elements)));

  Pricing alone(kLlama8b, {.n_gpus = 1, .zero_stage = 3});
  for (const StateUnit& unit : alone.pricer.states().units) CHECK(unit.gather_ns + unit.reduce_ns == 0);
}

TEST_CASE(
    "Offloaded weights are fetched before their gather, offloaded gradients copied after their reduction") {
  ParallelPlan plan{.n_gpus = 32, .zero_stage = 3, .offload = {.optimizer = true}};
  Pricing optimizer(kLlama8b, plan);
  plan.offload = {.optimizer = true, .weights = true, .gradients = true};
  Pricing all(kLlama8b, plan);
  const StatesPrice& states = all.pricer.states();
  const std::int64_t layer = 218'112'000;
  const StateUnit& unit = states.units[5];
  CHECK(unit.fetch_ns == all.ns(copy_case("host_to_device", 2 * layer / 32)));
  // 2 + 4 + 4 bytes of each of 8 GPUs' shards go through the host's memory, at .21 of its 400 GB/s.
  const double sum_ns = 10e9 * static_cast<double>(layer / 32) * 8 / 84e9;
  const std::int64_t copy_ns = all.ns(copy_case("device_to_host", 2 * layer / 32));
  CHECK(unit.drain_ns == copy_ns + std::llround(sum_ns));
  CHECK(unit.sum_ns == 0);  // on the GPU
  CHECK(unit.gather_ns == optimizer.pricer.states().units[5].gather_ns);
  // AdamW finds gradients on the host and leaves weights there.
  const std::int64_t shard = 8'030'261'248 / 32;
  const double adam_ns = 28e9 * static_cast<double>(shard) * 8 / 84e9;
  CHECK(std::abs(states.optimizer_ns - std::llround(adam_ns)) <= 1);
  // A node that states its memory's bandwidth.
  all.cluster.host_memory_bytes_per_s = 800e9;
  StepPricer faster(all.model, all.cluster, plan, all.profile, {});
  CHECK(std::abs(faster.states().optimizer_ns - std::llround(adam_ns / 2)) <= 1);
  // One GPU fetches all that it has.
  Pricing alone(kLlama8b, {.n_gpus = 1, .zero_stage = 3, .offload = plan.offload});
  CHECK(alone.pricer.states().units[5].gather_ns == 0);
  CHECK(alone.pricer.states().units[5].fetch_ns == alone.ns(copy_case("host_to_device", 2 * layer)));
  // With a pipeline gradients add up on the GPU.
  Pricing stages(kLlama8b, {.n_gpus = 32, .pp_degree = 2, .zero_stage = 3, .offload = plan.offload});
  CHECK(stages.pricer.states().units[5].sum_ns > 0);
}

TEST_CASE("Copies of checkpointed inputs add what their layer's passes do not hide") {
  const ParallelPlan plan{.n_gpus = 8, .zero_stage = 3, .gc_layers = 32, .offload = {.activations = true}};
  Pricing pricing(kLlama8b, plan);
  const std::int64_t tokens = 4096;
  const std::vector<std::int32_t> one = {4096};
  const MicroBatchPrice price = pricing.pricer.micro_batch(tokens, one);
  const std::int64_t copy_ns = pricing.ns(copy_case("device_to_host", 2 * tokens * 4096));
  const std::int64_t forward_ns = layer_time(price, {}, true).total_ns;
  CHECK(copy_ns < forward_ns);
  CHECK(price.added.empty());
  // Over a link that is a hundred times slower nothing of this size is hidden.
  pricing.cluster.host_link_bytes_per_s = 0.64e9;
  StepPricer slow(pricing.model, pricing.cluster, plan, pricing.profile, {});
  KernelPricer kernels(pricing.profile, pricing.cluster);
  const std::int64_t slow_ns =
      std::llround(1e9 * kernels.time(copy_case("device_to_host", 2 * tokens * 4096)).time_s);
  const MicroBatchPrice exposed = slow.micro_batch(tokens, one);
  const LayerForm checkpointed{.is_checkpointed = true};
  const std::int64_t to_host_ns = exposed.added_ns(checkpointed, LayerPhase::forward);
  CHECK(to_host_ns == slow_ns - forward_ns);
  CHECK(exposed.added_ns(checkpointed, LayerPhase::backward) ==
        slow_ns - layer_time(price, checkpointed, false).total_ns);
  CHECK(exposed.added_ns({}, LayerPhase::forward) == 0);
  CHECK(forward_time(exposed, slow.chunk(0)).total_ns ==
        forward_time(price, slow.chunk(0)).total_ns + 32 * to_host_ns);
}

TEST_CASE("Replicas of shard groups add up the shards of gradients; weights are gathered inside a group") {
  const ParallelPlan plan{.n_gpus = 128, .zero_stage = 3, .shard_degree = 8};
  Pricing pricing(kLlama8b, plan);
  const StatesPrice& states = pricing.pricer.states();
  CHECK(states.gpus == 8);
  CHECK(states.replicas == 16);
  // A layer of 218 112 000 parameters: 8 GPUs of a node gather and reduce it, then each of them adds its
  // eighth to those of the 15 other nodes.
  const std::int64_t layer = 2 * 218'112'000;
  const StateUnit& unit = states.units[5];
  CHECK(unit.gather_ns == pricing.ns(collective_case("all_gather", 8, 1, layer)));
  CHECK(unit.gather_bytes == layer);
  CHECK(unit.replicas_bytes == layer / 8);
  CHECK(unit.replicas_ns == pricing.ns(collective_case("all_reduce", 16, 16, layer / 8)));
  CHECK(unit.reduce_ns == pricing.ns(collective_case("reduce_scatter", 8, 1, layer)) + unit.replicas_ns);
  // A node's GPUs have what 128 would have of a model 16 times as large.
  CHECK(states.optimizer_ns == pricing.ns(adamw_case(8'030'261'248 / 8)));

  // One group is plain ZeRO, in every nanosecond.
  Pricing one(kLlama8b, {.n_gpus = 128, .zero_stage = 3, .shard_degree = 128});
  Pricing plain(kLlama8b, {.n_gpus = 128, .zero_stage = 3});
  for (std::size_t i = 0; i < states.units.size(); ++i) {
    CHECK(one.pricer.states().units[i].reduce_ns == plain.pricer.states().units[i].reduce_ns);
    CHECK(one.pricer.states().units[i].replicas_ns == 0);
  }
  // A group of one GPU copies its weights and only adds up gradients.
  Pricing copies(kLlama8b, {.n_gpus = 16, .zero_stage = 1, .shard_degree = 1});
  for (const StateUnit& copied : copies.pricer.states().units) {
    CHECK(copied.gather_ns == 0);
    CHECK(copied.reduce_ns == copied.replicas_ns);
    CHECK(copied.replicas_ns > 0);
  }
}

TEST_CASE("Experts of a shard group are sharded over those of its GPUs that hold the same") {
  // 8 of 16 GPUs hold an eighth of the experts each: 2 hold the same, of 8 such groups 16.
  ParallelPlan plan{.n_gpus = 128, .ep_degree = 8, .zero_stage = 1, .shard_degree = 16};
  CHECK(expert_state_gpus(plan) == 16);
  CHECK(expert_shard_gpus(plan) == 2);
  const GpuWeights weights = stage_weights(kQwen3Moe, plan, 0);
  CHECK(stage_states(kQwen3Moe, plan, 0).optimizer_bytes ==
        Approx(12 * (weights.dense / 16 + weights.experts / 2)));
  plan.tp_degree = 2;  // 4 GPUs of a group's 16 x 2 hold the same
  CHECK(expert_shard_gpus(plan) == 4);
}

TEST_CASE("The optimizer updates a shard; offloaded, gradients and weights cross to the host and back") {
  const std::int64_t shard = 8'030'261'248 / 32;
  Pricing on_gpu(kLlama8b, {.n_gpus = 32, .zero_stage = 2});
  CHECK(on_gpu.pricer.states().optimizer_ns == on_gpu.ns(adamw_case(shard)));
  ParallelPlan plan{.n_gpus = 32, .zero_stage = 2, .offload = {.optimizer = true}};
  Pricing offloaded(kLlama8b, plan);
  const auto link_ns = [&](std::int64_t bytes) { return offloaded.ns(copy_case("host_to_device", bytes)); };
  // 28 bytes a parameter of 8 GPUs' shards through 84 GB/s.
  const double adam_ns = 28e9 * static_cast<double>(shard) * 8 / 84e9;
  // Three times that are rounded by themselves.
  CHECK(static_cast<double>(offloaded.pricer.states().optimizer_ns) ==
        Approx(adam_ns + static_cast<double>(2 * link_ns(2 * shard))).margin(2));
  plan.execution.fp32_gradients = true;
  Pricing fp32(kLlama8b, plan);
  CHECK(static_cast<double>(fp32.pricer.states().optimizer_ns) ==
        Approx(adam_ns + static_cast<double>(link_ns(2 * shard) + link_ns(4 * shard))).margin(2));
}

TEST_CASE("LoRA trains adapters alone; ZeRO 3 gathers what they are beside") {
  const ParallelPlan plan{.n_gpus = 32, .zero_stage = 3, .lora_rank = 16};
  Pricing pricing(kLlama8b, plan);
  // Rank 16: q and o 16 x 8192 each, k and v 16 x 5120, gate, up and down 16 x 18432.
  const std::int64_t adapters = 16 * (2 * 8192 + 2 * 5120 + 3 * 18432);
  const std::vector<StateUnit>& units = pricing.pricer.states().units;
  REQUIRE(units.size() == 34);
  CHECK(units[0].reduce_bytes == 0);
  CHECK(units[0].reduce_ns == 0);
  CHECK(units[0].gather_bytes == 2 * 128256LL * 4096);
  CHECK(units[33].reduce_ns == 0);
  for (std::size_t i = 1; i < 33; ++i) {
    CHECK(units[i].reduce_bytes == 2 * adapters);
    CHECK(units[i].gather_bytes == 2 * (218'112'000 + adapters));
  }
  CHECK(pricing.pricer.states().optimizer_ns == pricing.ns(adamw_case(adapters)));  // 32 layers on 32 GPUs
}

TEST_CASE("Experts' states are shared by fewer GPUs than the others'") {
  const ParallelPlan plan{.n_gpus = 64,
                          .tp_degree = 2,
                          .ep_degree = 8,
                          .zero_stage = 3,
                          .execution = {.bucket_elements = 1'000'000'000'000}};
  Pricing pricing(kQwen3Moe, plan);
  const StateUnit& unit = pricing.pricer.states().units[1];
  const GpuWeights weights = layer_weights(kQwen3Moe, plan, LayerKind::expert);
  // 16 of the 128 experts of 3 x 2048 x 768.
  CHECK(weights.experts == 16 * 3.0 * 2048 * 768);
  // Of 64 GPUs 32 have the same half of the attention; 64 / 8 the same experts: in pairs, each 16 from the
  // next.
  const std::int64_t expected =
      pricing.ns(collective_case("all_gather", 32, 8, std::llround(2 * weights.dense))) +
      pricing.ns(collective_case("all_gather", 8, 4, std::llround(2 * weights.experts)));
  CHECK(unit.gather_ns == expected);
  // Each updates its shard of either.
  double updated = 0;
  for (const StateUnit& each : pricing.pricer.states().units)
    updated += static_cast<double>(each.gather_bytes) / 2;
  const double experts = 48 * weights.experts;
  const auto n_updated = static_cast<std::int64_t>(std::ceil((updated - experts) / 32 + experts / 8));
  CHECK(pricing.pricer.states().optimizer_ns == pricing.ns(adamw_case(n_updated)));
}

TEST_CASE("A tied head has no weights of its own on the embedding's stage, and a copy on another") {
  Transformer tied = kLlama8b;
  tied.tied_embeddings = true;
  const std::int64_t embedding = 128256LL * 4096;
  Pricing flat(tied, {.n_gpus = 8, .zero_stage = 3});
  CHECK(flat.pricer.states().units.back().gather_bytes == 2 * 4096);
  CHECK(sums(flat.pricer, 0).gather_bytes == 2.0 * (8'030'261'248 - embedding));
  Pricing pipeline(tied, {.n_gpus = 8, .pp_degree = 2, .zero_stage = 1});
  CHECK(sums(pipeline.pricer, 0).gather_bytes + sums(pipeline.pricer, 1).gather_bytes == 2.0 * 8'030'261'248);
}

TEST_CASE("Adding gradients up reads two and writes one; sharded ones are a share of that") {
  const auto sum_ns = [](const ParallelPlan& plan) {
    Pricing pricing(kLlama8b, plan);
    return pricing.pricer.states().units[1].sum_ns;
  };
  Pricing pricing(kLlama8b, {.n_gpus = 32, .zero_stage = 3});
  // A layer of 218 112 000: 53 250 rows of 4096.
  const KernelCase whole = elementwise_case("residual_add", "fwd", 53'250, 4096);
  const KernelCase share = elementwise_case("residual_add", "fwd", 1665, 4096);
  CHECK(sum_ns({.n_gpus = 32, .zero_stage = 1, .execution = {.bucket_elements = 1}}) == pricing.ns(whole));
  CHECK(sum_ns({.n_gpus = 32, .zero_stage = 3}) == pricing.ns(share));
  CHECK(sum_ns({.n_gpus = 32, .zero_stage = 2, .execution = {.bucket_elements = 1}}) == pricing.ns(share));
  CHECK(sum_ns({.n_gpus = 32, .zero_stage = 1, .execution = {.fp32_gradients = true}}) == 0);
}

TEST_CASE("The accounts of the states are those of their times, once each") {
  Pricing pricing(kDeepseekV2, {.n_gpus = 64, .ep_degree = 8, .zero_stage = 3});
  const StatesPrice& states = pricing.pricer.states();
  StateUnit sums;
  for (const StateUnit& unit : states.units) {
    sums.gather_ns += unit.gather_ns;
    sums.reduce_ns += unit.reduce_ns;
    sums.sum_ns += unit.sum_ns;
  }
  const auto check = [](const PriceAccount& account, Cause cause, std::int64_t expected_ns) {
    CHECK(1e9 * account.total(cause).time_s == Approx(static_cast<double>(expected_ns)).epsilon(1e-6));
  };
  check(states.gathers, Cause::states, sums.gather_ns);
  check(states.reductions, Cause::states, sums.reduce_ns);
  check(states.sums, Cause::linear, sums.sum_ns);
  check(states.optimizer, Cause::optimizer, states.optimizer_ns);
  CHECK(states.gathers.of(Cause::states).begin()->first.family == "collective op=all_gather between nodes");
}
