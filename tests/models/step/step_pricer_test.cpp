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

TEST_CASE("A pass through a layer takes no less than the launches of its kernels") {
  ParallelPlan plan{.n_gpus = 32, .gc_layers = 4, .checkpointing = Checkpointing::selective};
  Pricing in_time(kLlama8b, plan);
  const Lengths documents = {1};
  const MicroBatchPrice before = in_time.pricer.micro_batch(1, documents);
  CHECK(before.added.empty());
  plan.execution.launch_s = 1e-3;
  Pricing late(kLlama8b, plan);
  const MicroBatchPrice price = late.pricer.micro_batch(1, documents);
  // Forward: 7 products, 2 norms, rope of queries and of keys, attention, swiglu and 2 residual adds = 15.
  // Backward: two products for each of the 7, one kernel for each of the other 8 = 22.
  // Selective checkpointing runs attention a second time, 1 more.
  CHECK(layer_time(price, {}, true).total_ns == 15 * 1'000'000);
  CHECK(layer_time(price, {}, false).total_ns == 22 * 1'000'000);
  CHECK(layer_time(price, {.is_checkpointed = true}, false).total_ns == 23 * 1'000'000);
  // Long micro-batches wait for nothing.
  const Lengths longs = {1 << 20};
  CHECK(late.pricer.micro_batch(1 << 20, longs).added.empty());

  PlanAccount account(late.pricer);
  account.add_micro_batches(price, 2);
  const LayerForm checkpointed{.is_checkpointed = true};
  const auto waits_ns = static_cast<double>(
      32 * (price.added_ns({}, LayerPhase::forward) + price.added_ns({}, LayerPhase::backward)) +
      4 * price.added_ns(checkpointed, LayerPhase::recompute));
  CHECK(account.total().total(Cause::overhead).time_s == Approx(2e-9 * waits_ns));
  PlanAccount none(in_time.pricer);
  none.add_micro_batches(before, 2);
  CHECK(none.total().total(Cause::overhead).time_s == 0);
}

TEST_CASE("The overhead of a micro-batch comes once a GPU, however many chunks that has") {
  const ParallelPlan plan{.n_gpus = 32, .pp_degree = 4, .virtual_stages = 2, .zero_stage = 1};
  Pricing pricing(kLlama8b, plan, {.micro_batch_s = 0.25});
  CHECK(pricing.pricer.micro_batch(4096, Lengths{4096}).overhead_ns == 125'000'000);
}

TEST_CASE("A ring's GPUs split attention evenly, or the last one sees most") {
  const Lengths documents = {60000, 5536};
  const auto price = [&](int cp, RingLayout layout) {
    Pricing pricing(kLlama8b, {.n_gpus = 32, .sequence = {.ulysses = 2, .ring = cp}, .ring_layout = layout});
    return pricing.pricer.micro_batch(65536, documents);
  };
  const MicroBatchPrice whole = price(1, RingLayout::zigzag);
  CHECK(whole.attention_forward.steps == 1);
  CHECK(whole.attention_forward.transfer_ns == 0);
  const MicroBatchPrice zigzag = price(4, RingLayout::zigzag);
  CHECK(zigzag.attention_forward.steps == 4);
  CHECK(zigzag.attention_forward.stride == 2);
  // A quarter of the work in four steps; accounts are of the GPU's part.
  CHECK(std::abs(16 * zigzag.attention_forward.compute_ns - whole.attention_forward.compute_ns) <= 16);
  CHECK(zigzag.attention_forward.computed.time_s == Approx(whole.attention_forward.computed.time_s / 4));
  // Contiguous: 3 whole chunks and half of its own, of 8 halves in all: 7/16.
  const MicroBatchPrice contiguous = price(4, RingLayout::contiguous);
  CHECK(contiguous.attention_backward.computed.time_s ==
        Approx(whole.attention_backward.computed.time_s * 7 / 16));
  // K and V, 2 bytes, of 65536 / 4 tokens and 4 of the 8 heads of 128; backward with their gradients.
  CHECK(zigzag.attention_forward.bytes == 2 * 2 * (65536 / 4) * 4 * 128);
  CHECK(zigzag.attention_backward.bytes == 2 * zigzag.attention_forward.bytes);
  CHECK(zigzag.attention_backward.transfer_ns > zigzag.attention_forward.transfer_ns);
  // 8 GPUs are a node; 8 rings of 4 with Ulysses over 8 are not.
  Pricing wide(kLlama8b, {.n_gpus = 32, .sequence = {.ulysses = 8, .ring = 4}});
  KernelPricer kernels(wide.profile, wide.cluster);
  const RingPrice ring = wide.pricer.micro_batch(65536, documents).attention_forward;
  CHECK(ring.transfer_ns ==
        std::llround(1e9 * kernels.time(collective_case("send_recv", 2, 2, ring.bytes)).time_s));
}

TEST_CASE("Windowed layers count as their share of the layers") {
  Transformer model = kLlama8b;
  model.sliding_window_tokens = 1024;
  const Lengths documents = {20000, 300};
  const auto seconds = [&](int n_windowed_layers) {
    model.n_windowed_layers = n_windowed_layers;
    Pricing pricing(model, {.n_gpus = 8});
    return pricing.pricer.micro_batch(20300, documents).attention_forward.computed.time_s;
  };
  CHECK(seconds(32) < seconds(0) / 2);
  CHECK(seconds(8) == Approx(0.75 * seconds(0) + 0.25 * seconds(32)));
}

TEST_CASE("Of a ring, layers without a window take steps, and those with one compute in one go") {
  Transformer model = kLlama8b;
  const auto price = [&](int n_windowed_layers, int window, const Lengths& documents) {
    model.sliding_window_tokens = window;
    model.n_windowed_layers = n_windowed_layers;
    Pricing pricing(model, {.n_gpus = 8, .sequence = {.ring = 4}});
    return pricing.pricer.micro_batch(65536, documents).attention_backward;
  };
  const Lengths documents = {60000, 5536};
  const RingPrice plain = price(0, 0, documents);
  const RingPrice all = price(32, 1024, documents);
  const RingPrice mixed = price(8, 1024, documents);
  // A quarter of the layers has a window.
  CHECK(mixed.steps == 4);
  CHECK(std::abs(4 * mixed.compute_ns - 3 * plain.compute_ns) <= 4);
  CHECK(std::abs(4 * mixed.transfer_ns - 3 * plain.transfer_ns) <= 4);
  CHECK(4 * mixed.bytes == 3 * plain.bytes);
  CHECK(mixed.transfers.time_s == Approx(0.75 * plain.transfers.time_s));
  CHECK(std::abs(4 * mixed.windowed_ns - all.compute_ns) <= 4);
  CHECK(std::abs(4 * mixed.total_ns() - 3 * plain.total_ns() - all.total_ns()) <= 32);
  CHECK(mixed.computed.time_s == Approx(0.75 * plain.computed.time_s + 0.25 * all.computed.time_s));
  // All have one: no steps, and nothing goes round.
  CHECK(all.steps == 1);
  CHECK(all.transfer_ns == 0);
  CHECK(all.windowed_ns == 0);
  // A window as long as the longest document computes what no window does.
  CHECK(price(32, 60000, documents).computed.time_s == Approx(plain.computed.time_s));
  CHECK(price(8, 60000, documents).computed.time_s == Approx(plain.computed.time_s));
  CHECK(price(32, 30000, documents).computed.time_s < plain.computed.time_s);
}

TEST_CASE("Keys and values of windowed layers are gathered over the ring, which nothing hides") {
  Transformer model = kLlama8b;
  model.sliding_window_tokens = 1024;
  const ParallelPlan plan{.n_gpus = 64, .tp_degree = 2, .sequence = {.ring = 8}};
  const auto gathers_ns = [&](int n_windowed_layers, const PricedPhase LayerPrices::*phase) {
    model.n_windowed_layers = n_windowed_layers;
    Pricing pricing(model, plan);
    const PricedPhase& priced = pricing.pricer.tokens(4096).layers[0].*phase;
    for (const PassSegment& stage : priced.segments) {
      if (stage.cause != Cause::sequence || stage.kind != PassSegment::Kind::exchange) continue;
      // 2 bytes of 4 heads of 128, of 8 x 2 x 4096 tokens; two such tensors in the windowed part of the
      // layers.
      CHECK(stage.bytes == 2 * n_windowed_layers / 32 * (2 * 4 * 128 * 8 * 2 * 4096));
      CHECK(stage.gpus == 8);
      CHECK(stage.stride == 2);
    }
    return priced.by_cause_ns[static_cast<std::size_t>(Cause::sequence)];
  };
  Pricing pricing(model, plan);
  const std::int64_t bytes = 2 * 4 * 128 * 8 * 2 * 4096;
  const auto collective_ns = [&](std::string_view op) {
    return pricing.ns(collective_case(op, 8, 2, bytes));
  };
  const std::int64_t copy_ns = pricing.ns(copy_case("device", bytes));
  CHECK(gathers_ns(0, &LayerPrices::forward) == 0);
  const std::int64_t forward = gathers_ns(32, &LayerPrices::forward);
  CHECK(std::abs(forward - 2 * (collective_ns("all_gather") + copy_ns)) <= 4);
  CHECK(std::abs(gathers_ns(32, &LayerPrices::backward) - forward -
                 2 * (collective_ns("reduce_scatter") + copy_ns)) <= 4);
  CHECK(gathers_ns(32, &LayerPrices::recompute) == forward);
  CHECK(std::abs(2 * gathers_ns(16, &LayerPrices::forward) - forward) <= 4);
}

TEST_CASE("Activations between stages: a GPU's tokens, inside a node or between two") {
  const auto in_node = [](int n_gpus, int pp) {
    Pricing pricing(kLlama8b, {.n_gpus = n_gpus, .tp_degree = 2, .pp_degree = pp, .zero_stage = 1});
    return pricing.pricer.sends_in_node();
  };
  // Nodes of 8 GPUs. Stages of 2, of 4, of 8; of 2 on four nodes; the last one sends to the first.
  CHECK(in_node(8, 4) == std::vector<bool>{true, true, true, true});
  CHECK(in_node(16, 4) == std::vector<bool>{true, false, true, false});
  CHECK(in_node(32, 4) == std::vector<bool>{false, false, false, false});
  CHECK(in_node(32, 16) == std::vector<bool>{true, true, true, false, true, true, true, false, true, true,
                                             true, false, true, true, true, false});
  Pricing pricing(kLlama8b, {.n_gpus = 16, .tp_degree = 2, .pp_degree = 4, .zero_stage = 1});
  const MicroBatchPrice price = pricing.pricer.micro_batch(8192, Lengths{8192});
  CHECK(price.stage_transfer_bytes == 2 * 4096 * 4096);
  const auto send = [&](int nodes) {
    return collective_case("send_recv", 2, nodes, price.stage_transfer_bytes);
  };
  CHECK(price.stage_transfer_ns == pricing.ns(send(2)));
  CHECK(price.stage_transfer_in_node_ns == pricing.ns(send(1)));
  CHECK(price.stage_transfer_ns > 2 * price.stage_transfer_in_node_ns);
  Pricing flat(kLlama8b, {.n_gpus = 8});
  CHECK(flat.pricer.micro_batch(8192, Lengths{8192}).stage_transfer_ns == 0);
}

TEST_CASE("Chunks hold the model's layers in order, checkpointed as the memory model has them") {
  for (const Transformer& model : {kLlama8b, kDeepseekV2, kQwen3Moe}) {
    for (const int pp : {1, 2, 4}) {
      for (const int v : {1, 2, 3}) {
        if ((pp == 1 && v > 1) || model.n_layers % (pp * v) != 0) continue;
        ParallelPlan plan{
            .n_gpus = 32, .pp_degree = pp, .virtual_stages = v, .zero_stage = 1, .gc_layers = 13};
        Pricing pricing(model, plan);
        int n_dense = 0;
        int n_experts = 0;
        for (int chunk = 0; chunk < pp * v; ++chunk) {
          const ChunkShape shape = pricing.pricer.chunk(chunk);
          CAPTURE(model.name, pp, v, chunk);
          CHECK((shape.n_dense == 0 || n_experts == 0));  // dense ones come first
          n_dense += shape.n_dense;
          n_experts += shape.n_experts;
          CHECK(shape.has_embedding == (chunk == 0));
          CHECK(shape.has_head == (chunk == pp * v - 1));
          const LayerChunk expected =
              stage_chunks(model, plan, chunk % pp)[static_cast<std::size_t>(chunk / pp)];
          REQUIRE(static_cast<int>(expected.size()) == shape.n_layers());
          for (int i = 0; i < shape.n_layers(); ++i) {
            const StageLayer& layer = expected[static_cast<std::size_t>(i)];
            CHECK(layer.is_checkpointed == (i < shape.n_checkpointed));
            CHECK((layer.kind == LayerKind::expert) == (i >= shape.n_dense));
          }
        }
        CHECK(n_dense == model.n_layers_of(LayerKind::dense));
        CHECK(n_experts == model.n_layers_of(LayerKind::expert));
      }
    }
  }
}
