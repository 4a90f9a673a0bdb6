#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "models/pipeline/pipeline_schedule.hpp"
#include "tests/sim/closed_forms/network_closed_forms.hpp"
#include "tests/sim/closed_forms/op_closed_forms.hpp"
#include "tests/sim/step/random_steps.hpp"

// Steps whose time can be worked out by hand.

namespace packsim {
namespace {

constexpr std::int64_t kForward = 100;  // of a layer, nanoseconds
constexpr std::int64_t kBackward = 230;

// Ranks whose micro-batches all cost the same: layers of so much, and nothing else that is not asked for.
struct EvenStep {
  PricedPlan plan;
  TokenPrices tokens;
  MicroBatchPrice price;
  std::vector<RankWork> ranks;

  EvenStep(int n_layers, int n_ranks, int n_micro_batches, int n_chunks = 1) {
    plan.plan.n_gpus = n_ranks;
    for (int i = 0; i < n_chunks; ++i) plan.chunks.push_back({.n_dense = n_layers});
    plan.states.resize(static_cast<std::size_t>(n_chunks));
    units(0, 0);
    tokens.layers[0].forward = phase_of({computed(kForward), attended()});
    tokens.layers[0].backward = phase_of({attended(), computed(kBackward)});
    price.tokens = &tokens;
    ranks.resize(static_cast<std::size_t>(n_ranks));
    for (int r = 0; r < n_ranks; ++r) {
      ranks[static_cast<std::size_t>(r)] = {.plan = &plan, .first_gpu = r};
      ranks[static_cast<std::size_t>(r)].micro_batches.assign(static_cast<std::size_t>(n_micro_batches),
                                                              &price);
    }
  }
  EvenStep(const EvenStep&) = delete;

  void units(std::int64_t gather_ns, std::int64_t reduce_ns) {
    for (std::size_t i = 0; i < plan.chunks.size(); ++i)
      plan.states[i] = unit_per_layer(plan.chunks[i], gather_ns, reduce_ns);
  }

  std::int64_t ns() const {
    const std::int64_t coarse = step_ns(ranks, StepDetail::micro_batches);
    REQUIRE(step_ns(ranks, StepDetail::stages) == coarse);
    return coarse;
  }
};

TEST_CASE("One rank alone takes the sum of all that it does") {
  EvenStep step(3, 1, 2);
  step.plan.chunks = {
      {.n_dense = 1, .n_experts = 2, .n_checkpointed = 2, .has_embedding = true, .has_head = true}};
  step.plan.states = {{.units = {{.n_layers = 3, .has_embedding = true, .has_head = true}},
                       .optimizer_ns = 1000,
                       .step_ns = 2000}};
  step.tokens.layers[0] = {.forward = phase_of({computed(3), attended(), computed(4)}),
                           .recompute = phase_of({computed(5, Cause::recompute), attended(Cause::recompute)}),
                           .backward = phase_of({computed(6), attended(), exchanged(7, Cause::sequence)})};
  step.tokens.layers[1] = {
      .forward = phase_of({computed(11), attended()}),
      .recompute = phase_of({attended(Cause::recompute), computed(12, Cause::recompute)}),
      .backward = phase_of({exchanged(13, Cause::tensor), attended(), computed(14)})};
  step.tokens.embedding_forward = phase_of({computed(21)});
  step.tokens.embedding_backward = phase_of({computed(22)});
  step.tokens.head_forward = phase_of({computed(23)});
  step.tokens.head_backward = phase_of({computed(24)});
  step.price.attention_forward = ring_of(31);
  step.price.attention_backward = ring_of(32);
  step.price.overhead_ns = 41;
  const std::int64_t forward = 41 + 21 + (3 + 31 + 4) + 2 * (11 + 31) + 23;
  // The dense layer and the first with experts are checkpointed.
  const std::int64_t backward = 24 + (6 + 32 + 7) + (5 + 31) + 2 * (13 + 32 + 14) + (31 + 12) + 22;
  CHECK(step.ns() == 2 * (forward + backward) + 1000 + 2000);

  StepBuilder builder(StepDetail::stages, nullptr);
  OpGraph graph;
  builder.build(step.ranks, graph);
  const auto booked = [&](Cause cause) {
    return builder.work()[0].by_cause_ns[static_cast<std::size_t>(cause)];
  };
  CHECK(booked(Cause::linear) == 2 * (21 + 7 + 2 * 11 + 23 + 24 + 6 + 2 * 14 + 22));
  CHECK(booked(Cause::attention) == 2 * 3 * (31 + 32));
  CHECK(booked(Cause::recompute) == 2 * (5 + 31 + 31 + 12));
  CHECK(booked(Cause::sequence) == 2 * 7);
  CHECK(booked(Cause::tensor) == 2 * 2 * 13);
  CHECK(booked(Cause::overhead) == 2 * 41 + 2000);
  CHECK(booked(Cause::optimizer) == 1000);
}

TEST_CASE("The slowest rank decides; gradients and weights travel once for all of them") {
  EvenStep step(4, 3, 1);
  step.plan.plan.execution.overlaps_states = false;
  step.units(30, 10);
  step.ranks[1].micro_batches.assign(5, &step.price);
  step.ranks[2].micro_batches.clear();
  CHECK(step.ns() == 5 * 4 * (kForward + kBackward) + 4 * 10 + 4 * 30);
  step.ranks[0].stage_slow_down = {10};
  CHECK(step.ns() == 10 * 4 * (kForward + kBackward) + 4 * 10 + 4 * 30);
}

TEST_CASE("Gradients are added up from the second micro-batch on") {
  for (const int zero_stage : {0, 1, 2, 3}) {
    for (const int m : {1, 2, 5}) {
      EvenStep step(4, 1, m);
      step.plan.plan.zero_stage = zero_stage;
      for (StateUnit& unit : step.plan.states[0].units) unit.sum_ns = 13;
      CHECK(step.ns() == m * 4 * (kForward + kBackward) + (m - 1) * 4 * 13);
    }
  }
}

TEST_CASE("ZeRO 0 and 1 without overlap: micro-batches, gradients, optimizer, weights, one after another") {
  EvenStep step(4, 3, 2);
  step.plan.plan.execution.overlaps_states = false;
  step.units(30, 10);
  step.plan.states[0].optimizer_ns = 500;
  CHECK(step.ns() == 2 * 4 * (kForward + kBackward) + 4 * 10 + 500 + 4 * 30);
  step.plan.plan.zero_stage = 0;
  CHECK(step.ns() == 2 * 4 * (kForward + kBackward) + 4 * 10 + 500);
}

TEST_CASE("Gradients travel behind the last micro-batch's backward pass, bucket by bucket") {
  EvenStep step(4, 2, 3);
  const std::int64_t computed_ns = 3 * 4 * (kForward + kBackward);
  // Hidden but for the last bucket, or one after another from the first bucket on.
  step.units(30, kBackward - 1);
  CHECK(step.ns() == computed_ns + (kBackward - 1) + 4 * 30);
  step.units(30, 1000);
  CHECK(step.ns() == computed_ns - 3 * kBackward + 4 * 1000 + 4 * 30);
  // Two layers a bucket: the first one is full after two layers.
  step.plan.states[0].units = {{.first_layer = 0, .n_layers = 2, .gather_ns = 60, .reduce_ns = 2000},
                               {.first_layer = 2, .n_layers = 2, .gather_ns = 60, .reduce_ns = 2000}};
  CHECK(step.ns() == computed_ns - 2 * kBackward + 2 * 2000 + 2 * 60);
}

TEST_CASE("ZeRO 2 reduces in every micro-batch; two buckets are filled and sent in turn") {
  EvenStep step(4, 2, 3);
  step.plan.plan.zero_stage = 2;
  step.units(30, 50);
  // Hidden but for the last.
  CHECK(step.ns() == 3 * 4 * (kForward + kBackward) + 50 + 4 * 30);
  // Sending decides: the last bucket's sending lasts into the next forward pass.
  step.units(30, 1000);
  CHECK(step.ns() == 4 * kForward + kBackward + 3 * 4 * 1000 + 4 * 30);
  step.plan.plan.execution.overlaps_states = false;
  CHECK(step.ns() == 3 * 4 * (kForward + kBackward + 1000) + 4 * 30);
}

TEST_CASE("Changed weights are gathered beside the next first forward pass") {
  for (const int zero_stage : {1, 2}) {
    EvenStep step(5, 2, 3);
    step.plan.plan.zero_stage = zero_stage;
    step.plan.plan.execution.overlaps_gather = true;
    const std::int64_t layers_ns = 5 * (kForward + kBackward);
    // Hidden but for the first.
    step.units(kForward, 0);
    CHECK(step.ns() == kForward + 3 * layers_ns);
    // One after another from the start on; the last layer has its weights behind all five.
    step.units(1000, 0);
    CHECK(step.ns() == 5 * 1000 + kForward + 5 * kBackward + 2 * layers_ns);
    // A bucket of three layers and one of two.
    step.plan.states[0].units = {{.first_layer = 0, .n_layers = 3, .gather_ns = 200},
                                 {.first_layer = 3, .n_layers = 2, .gather_ns = 350}};
    CHECK(step.ns() == 550 + 2 * kForward + 5 * kBackward + 2 * layers_ns);
    // By itself too: gradients, of which there are none here, may be waited for.
    step.plan.plan.execution.overlaps_states = false;
    CHECK(step.ns() == 550 + 2 * kForward + 5 * kBackward + 2 * layers_ns);
  }
  // ZeRO 0 gathers nothing; ZeRO 3 gathers in every pass anyway.
  EvenStep step(5, 2, 3);
  step.units(60, 0);
  for (const int zero_stage : {0, 3}) {
    step.plan.plan.zero_stage = zero_stage;
    step.plan.plan.execution.overlaps_gather = false;
    const std::int64_t without_ns = step.ns();
    step.plan.plan.execution.overlaps_gather = true;
    CHECK(step.ns() == without_ns);
  }
}

TEST_CASE("Stages that wait for the pipeline to fill gather their weights meanwhile") {
  EvenStep step(1, 2, 4, 2);
  step.plan.plan.pp_degree = 2;
  step.plan.plan.n_gpus = 4;
  step.plan.plan.zero_stage = 1;
  const std::int64_t without_ns = step.ns();
  step.plan.plan.execution.overlaps_gather = true;
  step.units(80, 0);
  // The first stage's is exposed, the second has its weights before the first activations come.
  CHECK(step.ns() == 80 + without_ns);
  step.units(0, 0);
  step.plan.states[1].units[0].gather_ns = 80;
  CHECK(step.ns() == without_ns);
}

TEST_CASE("Weights are fetched before their gather; gradients are copied to the host after their reduction") {
  // One layer: fetched, gathered, computed, fetched and gathered again, computed, reduced, copied.
  EvenStep step(1, 2, 1);
  step.plan.plan.zero_stage = 3;
  step.units(10, 7);
  const std::int64_t before_ns = step.ns();
  step.plan.states[0].units[0].fetch_ns = 1000;
  // The second fetch starts with the forward pass, one layer ahead.
  CHECK(step.ns() == before_ns + 1000 + (1000 - kForward));
  step.plan.states[0].units[0].drain_ns = 300;
  CHECK(step.ns() == before_ns + 2 * 1000 - kForward + 300);
  // A GPU alone fetches and copies all the same.
  EvenStep alone(1, 1, 1);
  alone.plan.plan.zero_stage = 3;
  alone.plan.states[0].units[0].fetch_ns = 1000;
  alone.plan.states[0].units[0].drain_ns = 300;
  CHECK(alone.ns() == 1000 + 1000 + kBackward + 300);
  // Of two layers, the second is fetched while the first is computed, and copied while the first goes back.
  EvenStep two(2, 1, 1);
  two.plan.plan.zero_stage = 3;
  for (StateUnit& unit : two.plan.states[0].units) {
    unit.fetch_ns = 50;
    unit.drain_ns = 60;
  }
  CHECK(two.ns() == 50 + 2 * (kForward + kBackward) + 60);
}

TEST_CASE("Checkpointed layers wait for what their copies take longer") {
  EvenStep step(3, 1, 2);
  step.plan.chunks[0].n_checkpointed = 2;
  const std::int64_t before_ns = step.ns();
  step.price.added = {copied(LayerKind::dense, LayerPhase::forward, 11),
                      copied(LayerKind::dense, LayerPhase::backward, 13)};
  CHECK(step.ns() == before_ns + 2 * 2 * (11 + 13));
}

TEST_CASE("Layers wait for the launches of their kernels") {
  EvenStep step(3, 1, 2);
  step.plan.chunks[0].n_checkpointed = 2;
  const std::int64_t before_ns = step.ns();
  step.price.added = {launched(LayerKind::dense, LayerPhase::forward, 7),
                      launched(LayerKind::dense, LayerPhase::recompute, 11),
                      launched(LayerKind::dense, LayerPhase::backward, 13)};
  CHECK(step.ns() == before_ns + 2 * (3 * (7 + 13) + 2 * 11));
}

TEST_CASE("ZeRO 3 with a pipeline gathers weights once and reduces gradients once") {
  // 2 stages of one layer, 3 micro-batches. Both stages gather from the start on; the pipeline fills and
  // drains, and the first stage reduces what its last backward pass has left.
  EvenStep step(1, 1, 3, 2);
  step.plan.plan = {.n_gpus = 2, .pp_degree = 2, .zero_stage = 3};
  step.units(10, 7);
  CHECK(step.ns() == 10 + 4 * (kForward + kBackward) + 7);
  // Two ranks take no longer.
  EvenStep two(1, 2, 3, 2);
  two.plan.plan = {.n_gpus = 4, .pp_degree = 2, .zero_stage = 3};
  two.units(10, 7);
  CHECK(two.ns() == step.ns());
  // ZeRO 2 sends gradients as ZeRO 1 does, and gathers after the optimizer.
  for (const int zero_stage : {1, 2}) {
    step.plan.plan.zero_stage = zero_stage;
    CHECK(step.ns() == 4 * (kForward + kBackward) + 7 + 10);
  }
  // Nothing overlaps: each stage waits for its gather when the first micro-batch has come.
  step.plan.plan.zero_stage = 3;
  step.plan.plan.execution.overlaps_states = false;
  CHECK(step.ns() == 2 * 10 + 4 * (kForward + kBackward) + 7);
}

TEST_CASE("ZeRO 3 gathers one layer ahead, forward and backward") {
  const auto both_ways = [](std::int64_t gather_ns) {
    EvenStep step(5, 2, 1);
    step.plan.plan.zero_stage = 3;
    step.units(gather_ns, 0);
    step.tokens.layers[0].backward = step.tokens.layers[0].forward;
    return step.ns();
  };
  for (const std::int64_t gather_ns : {1, 99, 100, 101, 1000})
    CHECK(both_ways(gather_ns) == prefetch_time(2 * 5, {gather_ns}, {kForward}).ns);

  EvenStep step(5, 2, 3);
  step.plan.plan.zero_stage = 3;
  // Gradients hide as well, but for the last layer's.
  step.units(60, 40);
  CHECK(step.ns() == 60 + 3 * 5 * (kForward + kBackward) + 40);
  // Where communication decides, its stream is never idle: it starts at once, and while the last layer makes
  // its gradients those of the layer behind it travel.
  step.units(5000, 4000);
  CHECK(step.ns() == 3 * 5 * (2 * 5000 + 4000));
  step.plan.plan.execution.overlaps_states = false;
  CHECK(step.ns() == 3 * 5 * (kForward + kBackward + 2 * 5000 + 4000));
}

TEST_CASE("ZeRO 3 gathers no more than one layer ahead") {
  EvenStep step(4, 2, 1);
  step.plan.plan.zero_stage = 3;
  step.units(10, 0);
  step.plan.states[0].units[3].gather_ns = 300;
  step.tokens.layers[0].backward = phase_of({attended()});
  // Forward: layers 0, 1, 2 end at 110, 210, 310; layer 3's weights come from 210 to 510, it ends at 610. Its
  // weights come once more behind those of layer 3's own forward pass, from 510 to 810; then 10 a layer.
  CHECK(step.ns() == 810 + 3 * 10);
}

TEST_CASE("A backward layer of ZeRO 3 takes its computation or its gather and reduction") {
  // Per layer max(230, 150 + 100): backward from the second layer on the stream is full.
  EvenStep step(6, 2, 1);
  step.plan.plan.zero_stage = 3;
  step.units(150, 100);
  // Forward: 150 + 5 x 150 + 100 of computation; the first backward gather ends at 7 x 150 = 1050, the second
  // at 1200. Layer 5 is computed from 1050 to 1280; its gradients go at 1280, the next gather behind them at
  // 1380. Layer 4 from 1280 to 1510; gather of layer 3 from 1380 to 1530, and so on: 250 a layer.
  //   layer 3 starts at 1530, layer 2 at 1780, 1 at 2030, 0 at 2280; it ends at 2510, its gradients at 2610.
  CHECK(step.ns() == 2610);
}

TEST_CASE("1F1B and interleaved pipelines idle as in the papers") {
  for (const int p : {1, 2, 3, 4, 8}) {
    for (const int v : {1, 2, 3}) {
      if (p == 1 && v > 1) continue;
      for (const int rounds : {1, 2, 5}) {
        const int m = p * rounds;
        EvenStep step(2, 2, m, p * v);
        step.plan.plan.pp_degree = p;
        step.plan.plan.virtual_stages = v;
        step.plan.plan.n_gpus = 2 * p;
        CAPTURE(p, v, m);
        CHECK(step.ns() == pipeline_time(p, m, v, {2 * kForward}, {2 * kBackward}).ns);
      }
    }
  }
}

TEST_CASE("GPipe idles (p - 1) / (m + p - 1) of the time where all micro-batches cost the same") {
  const auto is_gpipe = [](const PipelineSchedule* schedule) { return schedule->name == "gpipe"; };
  const PipelineSchedule* gpipe = *std::ranges::find_if(pipeline_schedules(), is_gpipe);
  for (const int p : {2, 3, 4, 8}) {
    for (const int m : {1, 2, 5, 16}) {
      EvenStep step(2, 2, m, p);
      step.plan.plan.pp_degree = p;
      step.plan.plan.pipeline_schedule = gpipe;
      step.plan.plan.n_gpus = 2 * p;
      CAPTURE(p, m);
      // A stage computes in m of the m + p - 1 slots that the step takes.
      const std::int64_t slot_ns = 2 * (kForward + kBackward);
      const std::int64_t step_ns = step.ns();
      CHECK(step_ns == (m + p - 1) * slot_ns);
      CHECK((step_ns - m * slot_ns) * (m + p - 1) == step_ns * (p - 1));
    }
  }
}

TEST_CASE("One micro-batch goes through all stages and back, with a transfer between any two") {
  EvenStep step(2, 1, 1, 4);
  step.plan.plan.pp_degree = 4;
  step.plan.plan.n_gpus = 4;
  step.price.stage_transfer_ns = 17;
  CHECK(step.ns() == 4 * 2 * (kForward + kBackward) + 2 * 3 * 17);
  // The first and the third stage have the next one on their node.
  step.price.stage_transfer_in_node_ns = 5;
  step.plan.sends_in_node = {true, false, true, false};
  CHECK(step.ns() == 4 * 2 * (kForward + kBackward) + 2 * (5 + 17 + 5));
}

// The ends of all passes by recursion; transfers of one direction leave a stage one after another.
class NaivePipeline {
 public:
  NaivePipeline(const RankWork& work, std::int64_t transfer_ns) : work_(work), transfer_ns_(transfer_ns) {
    const ParallelPlan& plan = work.plan->plan;
    const int p = plan.pp_degree;
    const int n_chunks = p * plan.virtual_stages;
    const auto m = static_cast<int>(work.micro_batches.size());
    std::vector<std::vector<PipelinePass>> orders;
    for (int s = 0; s < p; ++s) orders.push_back(pipeline_order(plan.schedule(), plan.pipeline_shape(m), s));
    std::vector<std::size_t> next(static_cast<std::size_t>(p));
    std::vector<std::int64_t> free(static_cast<std::size_t>(p));
    std::map<std::pair<int, bool>, std::int64_t> sender_free;
    std::map<std::tuple<int, int, bool>, std::int64_t> arrived;  // at a chunk, by micro-batch and direction
    for (std::int64_t left = 2 * n_chunks * m; left > 0;) {
      for (int s = 0; s < p; ++s) {
        const auto stage = static_cast<std::size_t>(s);
        if (next[stage] == orders[stage].size()) continue;
        const PipelinePass pass = orders[stage][next[stage]];
        const int chunk = pass.chunk * p + s;
        std::int64_t start = free[stage];
        const bool is_first = pass.is_forward && chunk == 0;
        const bool is_turn = !pass.is_forward && chunk == n_chunks - 1;
        if (!is_first && !is_turn) {
          const auto input = arrived.find({chunk, pass.micro_batch, pass.is_forward});
          if (input == arrived.end()) continue;
          start = std::max(start, input->second);
        }
        const MicroBatchPrice& price = *work.micro_batches[static_cast<std::size_t>(pass.micro_batch)].price;
        const ChunkShape& shape = work.plan->chunks[static_cast<std::size_t>(chunk)];
        const std::int64_t end =
            start + (pass.is_forward ? forward_time(price, shape) : backward_time(price, shape)).total_ns;
        free[stage] = end;
        std::int64_t& sent = sender_free[{s, pass.is_forward}];
        const int to = chunk + (pass.is_forward ? 1 : -1);
        if (to >= 0 && to < n_chunks) {
          sent = std::max(sent, end) + transfer_ns_;
          arrived[{to, pass.micro_batch, pass.is_forward}] = sent;
        }
        end_ns_ = std::max({end_ns_, end, sent});
        ++next[stage];
        --left;
      }
    }
  }
  std::int64_t end_ns() const { return end_ns_; }

 private:
  const RankWork& work_;
  std::int64_t transfer_ns_;
  std::int64_t end_ns_ = 0;
};

TEST_CASE("Pipelines of unequal micro-batches end as a recursion over their passes says") {
  std::mt19937 generator(11);
  const auto below = [&](int n) { return static_cast<int>(generator() % static_cast<std::uint32_t>(n)); };
  for (int i = 0; i < 2000; ++i) {
    const int p = 2 + below(4);
    const PipelineSchedule& schedule =
        *pipeline_schedules()[static_cast<std::size_t>(below(static_cast<int>(pipeline_schedules().size())))];
    const int v = schedule.most_chunks == 1 ? 1 : schedule.fewest_chunks + below(2);
    const int m = schedule.needs_full_rounds ? p * below(4) : below(9);
    EvenStep step(1 + below(3), 1, 0, p * v);
    step.plan.plan.pp_degree = p;
    step.plan.plan.virtual_stages = v;
    step.plan.plan.pipeline_schedule = &schedule;
    step.plan.plan.n_gpus = p;
    // Every other pipeline has uneven chunks, perhaps without layers at both ends.
    for (int chunk = 0; i % 2 == 1 && chunk < p * v; ++chunk) {
      const bool is_edge = chunk == 0 || chunk == p * v - 1;
      ChunkShape& shape = step.plan.chunks[static_cast<std::size_t>(chunk)];
      shape.n_dense = below(4) + (is_edge ? 0 : 1);
      step.plan.states[static_cast<std::size_t>(chunk)] = unit_per_layer(shape, 0, 0);
    }
    const std::int64_t transfer_ns = below(200);
    std::vector<MicroBatchPrice> prices(static_cast<std::size_t>(m), step.price);
    for (MicroBatchPrice& price : prices) {
      price.attention_forward = ring_of(below(300));
      price.attention_backward = ring_of(below(300));
      price.stage_transfer_ns = transfer_ns;
      step.ranks[0].micro_batches.push_back(&price);
    }
    CAPTURE(i, p, v, m, transfer_ns);
    REQUIRE(step.ns() == NaivePipeline(step.ranks[0], transfer_ns).end_ns());
  }
}

TEST_CASE("Ring attention computes with one block while the next one arrives") {
  for (const std::int64_t transfer_ns : {0, 50, 70, 71, 200}) {
    EvenStep step(3, 1, 1);
    step.price.attention_forward = ring_of(70, 4, transfer_ns);
    step.price.attention_backward = ring_of(180, 4, 2 * transfer_ns);
    const auto ring = [](std::int64_t a, std::int64_t t) { return a + 3 * std::max(a, t); };
    CHECK(step.ns() == 3 * (kForward + kBackward + ring(70, transfer_ns) + ring(180, 2 * transfer_ns)));
  }
}

TEST_CASE("Ranks that share experts wait for each other in every layer, others at the end of the step") {
  EvenStep step(0, 2, 1);
  step.plan.chunks = {{.n_experts = 3}};
  step.plan.states = {unit_per_layer(step.plan.chunks[0], 0, 0)};
  // Rank 0 is slow before the exchange, rank 1 behind it.
  TokenPrices other;
  const auto expert_layer = [](std::int64_t before, std::int64_t exchange, std::int64_t behind) {
    return phase_of({computed(before), exchanged(exchange, Cause::expert), computed(behind)});
  };
  step.tokens.layers[1].forward = expert_layer(100, 10, 20);
  other.layers[1].forward = expert_layer(30, 40, 90);
  const MicroBatchPrice other_price{.tokens = &other};
  step.ranks[1].micro_batches = {&other_price};
  // 100 until the exchange, 40 as the larger one takes, 90 behind it, and at once the next layer: rank 0
  // comes to its exchange 20 + 100 behind the one before, rank 1 90 + 30.
  step.plan.plan.ep_degree = 2;
  CHECK(step.ns() == 100 + 40 + 120 + 40 + 120 + 40 + 90);
  // Experts of one's own: three times 130 against three times 160.
  step.plan.plan.ep_degree = 1;
  CHECK(step.ns() == 3 * 160);
  // Two pairs: each waits for itself alone, and slower pairs for nobody.
  std::vector<RankWork> four = step.ranks;
  four.insert(four.end(), 2, step.ranks[1]);
  for (int r = 0; r < 4; ++r) four[static_cast<std::size_t>(r)].first_gpu = r;
  step.plan.plan.n_gpus = 4;
  step.plan.plan.ep_degree = 2;
  StepBuilder builder(StepDetail::micro_batches, nullptr);
  OpGraph graph;
  builder.build(four, graph);
  OpEngine engine;
  engine.run(graph, nullptr, {}, {});
  CHECK(engine.end(graph.streams()[graph.compute_stream(0)].last).ns == 100 + 40 + 120 + 40 + 120 + 40 + 20);
  CHECK(engine.end(graph.streams()[graph.compute_stream(3)].last).ns == 3 * 160);
  // Nobody waits for a rank that has nothing to do.
  step.plan.plan.ep_degree = 2;
  step.ranks[1].micro_batches.clear();
  CHECK(step.ns() == 3 * 130);
}

}  // namespace
}  // namespace packsim
