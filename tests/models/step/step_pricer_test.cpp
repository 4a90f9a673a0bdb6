#include "models/step/step_pricer.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "models/kernels/make_case.hpp"
#include "models/memory/stages.hpp"
#include "models/step/pass/pass_time.hpp"
#include "models/step/plan_account.hpp"
#include "tests/models/expert_models.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/pricing.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using Lengths = std::vector<std::int32_t>;

using KernelsOf = std::vector<CountedKernel> (*)(const LayerOp& op);

// Nanoseconds, rounded once for each op.
std::int64_t kernels_ns(KernelPricer& kernels, const std::vector<LayerOp>& ops, KernelsOf kernels_of) {
  std::int64_t total_ns = 0;
  for (const LayerOp& op : ops) {
    if (op.kind == LayerOp::Kind::attention) continue;
    double time_s = 0;
    for (const CountedKernel& use : kernels_of(op)) time_s += use.count * kernels.time(use.kernel).time_s;
    total_ns += std::llround(1e9 * time_s);
  }
  return total_ns;
}

std::vector<const PricedPhase*> phases_of(const TokenPrices& prices) {
  std::vector<const PricedPhase*> phases = {&prices.embedding_forward, &prices.embedding_backward,
                                            &prices.head_forward, &prices.head_backward};
  for (const LayerPrices& layer : prices.layers)
    phases.insert(phases.end(), {&layer.forward, &layer.recompute, &layer.backward});
  return phases;
}

const std::vector<ParallelPlan> kPlans = {
    {.n_gpus = 32, .sequence = {.ulysses = 8}},
    {.n_gpus = 32,
     .tp_degree = 2,
     .sequence = {.ulysses = 2, .ring = 2},
     .execution = {.recompute_stops_early = true}},
    {.n_gpus = 32, .sequence = {.ulysses = 16}, .checkpointing = Checkpointing::selective, .lora_rank = 16},
    {.n_gpus = 32, .sequence = {.ulysses = 2}, .checkpointing = Checkpointing::operations},
};

}  // namespace

TEST_CASE("Powers of two are priced exactly: the sum of their kernels") {
  for (const Transformer& model : {kLlama8b, kDeepseekV2}) {
    for (const ParallelPlan& plan : kPlans) {
      Pricing pricing(model, plan);
      for (const std::int64_t tokens : {1, 256, 4096, 65536}) {
        const TokenPrices& prices = pricing.pricer.tokens(tokens);
        for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
          if (model.n_layers_of(kind) == 0) continue;
          const LayerPrices& layer = prices.layers[static_cast<std::size_t>(kind)];
          const std::vector<LayerOp> forward = layer_forward(model, plan, 8, kind, tokens);
          CHECK(layer.forward.total_ns == kernels_ns(pricing.kernels, forward, forward_kernels));
          CHECK(layer.backward.total_ns == kernels_ns(pricing.kernels, forward, backward_kernels));
          CHECK(layer.recompute.total_ns ==
                kernels_ns(pricing.kernels, layer_recompute(model, plan, 8, kind, tokens), forward_kernels));
        }
        const std::vector<LayerOp> embedding = embedding_forward(model, plan, 8, tokens);
        const std::vector<LayerOp> head = head_forward(model, plan, 8, tokens);
        CHECK(prices.embedding_forward.total_ns == kernels_ns(pricing.kernels, embedding, forward_kernels));
        // A frozen embedding has no backward pass.
        CHECK(prices.embedding_backward.total_ns ==
              (plan.lora_rank > 0 ? 0 : kernels_ns(pricing.kernels, embedding, backward_kernels)));
        CHECK(prices.head_forward.total_ns == kernels_ns(pricing.kernels, head, forward_kernels));
        CHECK(prices.head_backward.total_ns == kernels_ns(pricing.kernels, head, backward_kernels));
      }
    }
  }
}

TEST_CASE("Stages add up to their phase, by cause") {
  std::mt19937 generator(1);
  for (const Transformer& model : {kLlama8b, kDeepseekV2}) {
    for (const ParallelPlan& plan : kPlans) {
      Pricing pricing(model, plan, {.linear_factor = 1.3, .exchange_in_node_factor = 1.1});
      for (int i = 0; i < 40; ++i) {
        for (const PricedPhase* phase : phases_of(pricing.pricer.tokens(1 + generator() % 40000))) {
          NsByCause by_cause = {};
          for (const PassSegment& stage : phase->segments) {
            REQUIRE(stage.time_ns >= 0);
            if (stage.kind == PassSegment::Kind::attention) REQUIRE(stage.time_ns == 0);
            by_cause[static_cast<std::size_t>(stage.cause)] += stage.time_ns;
          }
          REQUIRE(by_cause == phase->by_cause_ns);
          REQUIRE(std::accumulate(by_cause.begin(), by_cause.end(), std::int64_t{0}) == phase->total_ns);
        }
      }
    }
  }
}

TEST_CASE("Groups of exchanges: tensor parallelism side by side, the others a tensor-parallel group apart") {
  Pricing pricing(kDeepseekV2, {.n_gpus = 64, .tp_degree = 2, .sequence = {.ulysses = 4}, .ep_degree = 8});
  int n_exchanges = 0;
  for (const PricedPhase* phase : phases_of(pricing.pricer.tokens(1024))) {
    for (const PassSegment& stage : phase->segments) {
      if (stage.kind != PassSegment::Kind::exchange) continue;
      CHECK(stage.stride == (stage.cause == Cause::tensor ? 1 : 2));
      CHECK(stage.gpus == (stage.cause == Cause::tensor ? 2 : stage.cause == Cause::expert ? 8 : 4));
      CHECK(stage.bytes > 0);
      ++n_exchanges;
    }
  }
  CHECK(n_exchanges > 20);
}

TEST_CASE("Between grid points prices lie on straight lines") {
  Pricing pricing(kLlama8b, {.n_gpus = 32, .sequence = {.ulysses = 8}});
  // Of 64 points to the octave the first behind 4096 is 4096 x 2^(1/64) = 4140.6.
  const TokenPrices& low = pricing.pricer.tokens(4096);
  const TokenPrices& high = pricing.pricer.tokens(4141);
  const TokenPrices& middle = pricing.pricer.tokens(4120);
  const double part = (4120.0 - 4096) / (4141 - 4096);
  const auto of = [](const TokenPrices& prices) { return &prices.layers[0].backward; };
  for (std::size_t i = 0; i < of(low)->segments.size(); ++i) {
    const auto between = [&](auto member) {
      const auto value = [&](const TokenPrices& prices) {
        return static_cast<double>(of(prices)->segments[i].*member);
      };
      CHECK(std::abs(value(middle) - ((1 - part) * value(low) + part * value(high))) <= 0.5);
    };
    between(&PassSegment::time_ns);
    between(&PassSegment::bytes);
  }
  // Small counts are all on the grid.
  for (std::int64_t tokens = 1; tokens < 90; ++tokens) {
    const ParallelPlan plan = pricing.pricer.plan();
    REQUIRE(pricing.pricer.tokens(tokens).layers[0].forward.total_ns ==
            kernels_ns(pricing.kernels, layer_forward(kLlama8b, plan, 8, LayerKind::dense, tokens),
                       forward_kernels));
  }
}

TEST_CASE("More tokens never take less time") {
  for (const ParallelPlan& plan : kPlans) {
    Pricing pricing(kLlama8b, plan);
    std::int64_t before = 0;
    for (std::int64_t tokens = 1000; tokens < 3000; tokens += 7) {
      const std::int64_t total = pricing.pricer.tokens(tokens).layers[0].forward.total_ns;
      REQUIRE(total >= before);
      before = total;
    }
  }
}

TEST_CASE("A micro-batch's tokens are split over the GPUs of its sequence, rounded up") {
  Pricing pricing(kLlama8b, {.n_gpus = 32, .tp_degree = 2, .sequence = {.ulysses = 2, .ring = 2}});
  CHECK(pricing.pricer.micro_batch(8192, Lengths{8192}).tokens == &pricing.pricer.tokens(1024));
  CHECK(pricing.pricer.micro_batch(8193, Lengths{8193}).tokens == &pricing.pricer.tokens(1025));
  CHECK(pricing.pricer.micro_batch(1, Lengths{1}).tokens == &pricing.pricer.tokens(1));
}

TEST_CASE("The framework's factors multiply what they are of, and nothing else") {
  // Ulysses inside a node: its exchanges and copies; over two nodes the other factor.
  for (const int sp : {8, 16}) {
    const ParallelPlan plan{.n_gpus = 32, .sequence = {.ulysses = sp}};
    Pricing plain(kLlama8b, plan);
    Pricing factors(kLlama8b, plan,
                    {.linear_factor = 2,
                     .attention_factor = 3,
                     .exchange_in_node_factor = 5,
                     .exchange_between_factor = 7,
                     .micro_batch_s = 0.25,
                     .step_s = 0.5});
    const NsByCause& a = plain.pricer.tokens(4096).layers[0].forward.by_cause_ns;
    const NsByCause& b = factors.pricer.tokens(4096).layers[0].forward.by_cause_ns;
    const auto ratio = [&](Cause cause) {
      const auto c = static_cast<std::size_t>(cause);
      return static_cast<double>(b[c]) / static_cast<double>(a[c]);
    };
    CHECK(ratio(Cause::linear) == Approx(2).epsilon(1e-4));
    CHECK(ratio(Cause::sequence) == Approx(sp == 8 ? 5 : 7).epsilon(1e-4));
    const Lengths documents = {30000, 2768};
    const MicroBatchPrice one = plain.pricer.micro_batch(32768, documents);
    const MicroBatchPrice other = factors.pricer.micro_batch(32768, documents);
    CHECK(static_cast<double>(other.attention_backward.compute_ns) ==
          Approx(3.0 * static_cast<double>(one.attention_backward.compute_ns)).epsilon(1e-6));
    CHECK(other.attention_forward.computed.time_s == Approx(3 * one.attention_forward.computed.time_s));
    CHECK(one.overhead_ns == 0);
    CHECK(other.overhead_ns == 250'000'000);
    CHECK(factors.pricer.states().step_ns == 500'000'000);
    CHECK(factors.pricer.states().optimizer_ns ==
          Approx(2 * plain.pricer.states().optimizer_ns).epsilon(1e-6));
    CHECK(factors.pricer.states().units[0].reduce_ns == plain.pricer.states().units[0].reduce_ns);
  }
}
