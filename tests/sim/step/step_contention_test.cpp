#include <catch2/catch.hpp>

#include "tests/sim/closed_forms/network_closed_forms.hpp"
#include "tests/sim/step/random_steps.hpp"

// Steps of ranks that share links.

namespace packsim {
namespace {

constexpr std::int64_t kAloneNs = 1'000'000;
constexpr std::int64_t kBytes = 40'000'000;

// One layer, whose forward pass is one exchange and nothing else.
struct ExchangeStep {
  PricedPlan plan;
  TokenPrices tokens;
  MicroBatchPrice price;
  std::vector<RankWork> ranks;

  ExchangeStep(const ParallelPlan& parallel, const PassSegment& exchange, int n_ranks) {
    plan.plan = parallel;
    plan.plan.n_gpus = parallel.rank_gpus() * n_ranks;
    plan.chunks = {{.n_dense = 1}};
    plan.states = {{.units = {{.n_layers = 1}}}};
    tokens.layers[0].forward = phase_of({exchange});
    price.tokens = &tokens;
    for (int r = 0; r < n_ranks; ++r) {
      ranks.push_back({.plan = &plan, .first_gpu = r * plan.plan.sequence_gpus(), .micro_batches = {&price}});
    }
  }
  ExchangeStep(const ExchangeStep&) = delete;

  std::int64_t ns(const Topology& topology) const { return step_ns(ranks, StepDetail::stages, 1, &topology); }
};

// Nodes of one GPU; a leaf switch for three of them, whose uplink carries so much.
Cluster leaves_of_three(double uplink_bytes_per_s) {
  Cluster cluster{.name = "", .source = "", .gpu = {}};
  cluster.nodes = 12;
  cluster.gpus_per_node = 1;
  const double wide = 1e15;
  cluster.network = {.nvlink_bytes_per_s = wide,
                     .nics_per_node = 1,
                     .nic_bytes_per_s = wide,
                     .nodes_per_leaf = 3,
                     .oversubscription = 3 * wide / uplink_bytes_per_s};
  return cluster;
}

TEST_CASE("Two Ulysses groups across one oversubscribed leaf share its uplink") {
  const PassSegment exchange = exchanged(kAloneNs, Cause::sequence, 4, 1, kBytes);
  // Leaf 1 has nodes 3, 4, 5. Of rank 0 (nodes 0..3) node 3 sends 3/4 of its payload through the uplink, of
  // rank 1 (nodes 4..7) nodes 4 and 5 half of theirs: one payload. The uplink carries one payload in
  // kAloneNs.
  const Topology topology(leaves_of_three(kBytes / (1e-9 * kAloneNs)));
  ExchangeStep one({.sequence = {.ulysses = 4}}, exchange, 1);
  CHECK(one.ns(topology) == kAloneNs);
  // 3/4 and 1 payload over one link: both have half of it until the smaller is done after 1.5 times, then 1/4
  // is left of the larger.
  ExchangeStep both({.sequence = {.ulysses = 4}}, exchange, 2);
  const std::vector<double> bytes = {all_to_all_crossing_bytes(1, 4, kBytes),
                                     all_to_all_crossing_bytes(2, 4, kBytes)};
  const std::vector<double> ends_s = shared_link_ends_s(bytes, kBytes / (1e-9 * kAloneNs));
  CHECK(ends_s[1] == Approx(1.75e-9 * kAloneNs));
  CHECK(std::abs(static_cast<double>(both.ns(topology)) - 1e9 * ends_s[1]) <= 1);
  // Without leaf switches of their own nothing is shared.
  Cluster flat = leaves_of_three(1e15);
  flat.network.nodes_per_leaf = 0;
  CHECK(both.ns(Topology(flat)) == kAloneNs);
}

TEST_CASE("Groups inside nodes do not contend") {
  Cluster cluster{.name = "", .source = "", .gpu = {}};
  cluster.nodes = 4;
  cluster.gpus_per_node = 8;
  // All links as narrow as they can be for one group alone: 3/4 of the payload leaves a GPU.
  const double bytes_per_s = 0.75 * kBytes / (1e-9 * kAloneNs);
  cluster.network = {.nvlink_bytes_per_s = bytes_per_s,
                     .nics_per_node = 8,
                     .nic_bytes_per_s = bytes_per_s / 100,
                     .nodes_per_leaf = 1,
                     .oversubscription = 10};
  ExchangeStep step({.sequence = {.ulysses = 4}}, exchanged(kAloneNs, Cause::sequence, 4, 1, kBytes), 8);
  CHECK(step.ns(Topology(cluster)) == kAloneNs);
}

TEST_CASE("Pipeline neighbours of two ranks share the uplink of their leaf") {
  // Stage 0 of ranks 0, 1, 2 is on leaf 0, stage 1 on leaf 1.
  PricedPlan plan;
  plan.plan = {.n_gpus = 6, .pp_degree = 2};
  plan.chunks = {{.n_dense = 1}, {.n_dense = 1}};
  plan.states.assign(2, {.units = {{.n_layers = 1}}});
  const TokenPrices tokens;
  MicroBatchPrice price{.tokens = &tokens};
  price.stage_transfer_ns = kAloneNs;
  price.stage_transfer_bytes = kBytes;
  const Topology topology(leaves_of_three(kBytes / (1e-9 * kAloneNs)));
  std::vector<RankWork> ranks;
  for (int n = 1; n <= 3; ++n) {
    ranks.push_back({.plan = &plan, .first_gpu = n - 1, .micro_batches = {&price}});
    // There and back.
    CHECK(step_ns(ranks, StepDetail::stages, 1, &topology) == 2 * n * kAloneNs);
    CHECK(step_ns(ranks, StepDetail::micro_batches, 1, &topology) == 2 * n * kAloneNs);
  }
}

TEST_CASE("Weights of two pipeline stages share the uplink of their leaf") {
  // Stage 0 on nodes 0..3, stage 1 on 4..7: each ring leaves leaf 1 once, with 3/4 of its payload.
  PricedPlan plan;
  plan.plan = {.n_gpus = 8, .pp_degree = 2, .zero_stage = 1};
  plan.chunks = {{.n_dense = 1}, {.n_dense = 1}};
  const StateUnit unit{.n_layers = 1, .gather_ns = kAloneNs, .gather_bytes = kBytes};
  plan.states.assign(2, {.units = {unit}, .gpus = 4, .stride = 1});
  std::vector<RankWork> ranks;
  for (int r = 0; r < 4; ++r) ranks.push_back({.plan = &plan, .first_gpu = r});
  const Topology topology(leaves_of_three(0.75 * kBytes / (1e-9 * kAloneNs)));
  CHECK(step_ns(ranks, StepDetail::stages, 1, &topology) == 2 * kAloneNs);
  const Topology wide(leaves_of_three(1.5 * kBytes / (1e-9 * kAloneNs)));
  CHECK(step_ns(ranks, StepDetail::stages, 1, &wide) == kAloneNs);
}

TEST_CASE("Shard groups gather apart from each other") {
  // 4 ranks in 2 groups. Rank 0 computes longer in its only layer; rank 1 gathers with it, ranks 2 and 3 by
  // themselves. Without replicas' sums, the groups do not meet.
  PricedPlan plan;
  plan.plan = {.n_gpus = 4, .zero_stage = 3, .shard_degree = 2};
  plan.chunks = {{.n_dense = 2}};
  const auto unit = [](int layer) { return StateUnit{.first_layer = layer, .n_layers = 1, .gather_ns = 10}; };
  plan.states = {{.units = {unit(0), unit(1)}, .gpus = 2, .stride = 1, .replicas = 2}};
  std::array<TokenPrices, 2> tokens;
  tokens[0].layers[0].forward = phase_of({computed(100)});
  tokens[1].layers[0].forward = phase_of({computed(20)});
  const std::array<MicroBatchPrice, 2> prices = {{{.tokens = &tokens[0]}, {.tokens = &tokens[1]}}};
  std::vector<RankWork> ranks;
  for (int r = 0; r < 4; ++r)
    ranks.push_back(
        {.plan = &plan, .first_gpu = r, .micro_batches = {&prices[r == 0 ? 0 : 1], &prices[r == 0 ? 0 : 1]}});
  for (const StepDetail detail : {StepDetail::micro_batches, StepDetail::stages}) {
    StepArena arena({.detail = detail});
    const StepRun run = run_step(ranks, arena);
    std::vector<std::int64_t> ends(4);
    for (OpId op = 0; op < run.graph.ops().size(); ++op) {
      std::int64_t& end = ends[run.graph.streams()[run.graph.ops()[op].stream].rank];
      end = std::max(end, run.engine.end(op).ns);
    }
    CHECK(ends[1] > ends[2]);
    CHECK(ends[2] == ends[3]);
    // Alone, the second group ends as it does beside the first.
    CHECK(step_ns(std::span(ranks).subspan(2), detail) == ends[2]);
  }
}

TEST_CASE("Experts of four ranks, two by two, share the uplink of their leaf") {
  // Blocks of 4 nodes; each rank has 2 of them. As the Ulysses groups above.
  const PassSegment exchange = exchanged(kAloneNs, Cause::expert, 4, 1, kBytes);
  ExchangeStep step({.sequence = {.ulysses = 2}, .ep_degree = 4}, exchange, 4);
  step.plan.chunks = {{.n_experts = 1}};
  step.tokens.layers[1].forward = phase_of({exchange});
  const Topology topology(leaves_of_three(kBytes / (1e-9 * kAloneNs)));
  for (const StepDetail detail : {StepDetail::stages, StepDetail::micro_batches})
    CHECK(std::abs(step_ns(step.ranks, detail, 1, &topology) - kAloneNs * 7 / 4) <= 1);
}

TEST_CASE("Rings of two ranks share the uplink of their leaf") {
  // Nodes 0..3 and 4..7: leaf 1 has node 3 of the first ring and 4, 5 of the second; each ring leaves it
  // once.
  ParallelPlan parallel{.sequence = {.ring = 4}};
  ExchangeStep step(parallel, {.kind = PassSegment::Kind::attention, .cause = Cause::attention}, 2);
  step.price.attention_forward = {.steps = 4, .compute_ns = 10, .transfer_ns = kAloneNs, .bytes = kBytes};
  step.price.attention_backward.steps = 1;
  const Topology topology(leaves_of_three(kBytes / (1e-9 * kAloneNs)));
  CHECK(step.ns(topology) == 3 * 2 * kAloneNs + 10);
  step.ranks.pop_back();
  CHECK(step.ns(topology) == 3 * kAloneNs + 10);
}

}  // namespace
}  // namespace packsim
