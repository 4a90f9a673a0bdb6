#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "models/state_traffic.hpp"
#include "sim/run/run_step.hpp"

namespace packsim {

inline PricedPhase phase_of(const std::vector<PassSegment>& segments) {
  PricedPhase phase;
  for (const PassSegment& segment : segments) phase.add(segment);
  return phase;
}

// What every layer of a kind waits for behind a phase: launches by the host, or a copy of its input.
inline AddedSegment launched(LayerKind layer, LayerPhase behind, std::int64_t time_ns) {
  return {.layer = layer,
          .behind = behind,
          .segment = {.kind = PassSegment::Kind::host, .cause = Cause::overhead, .time_ns = time_ns}};
}
inline AddedSegment copied(LayerKind layer, LayerPhase behind, std::int64_t time_ns) {
  return {.layer = layer,
          .behind = behind,
          .of_checkpointed = true,
          .segment = {.kind = PassSegment::Kind::host_copy, .cause = Cause::states, .time_ns = time_ns}};
}

inline PassSegment computed(std::int64_t time_ns, Cause cause = Cause::linear) {
  return {.kind = PassSegment::Kind::compute, .cause = cause, .time_ns = time_ns};
}
inline PassSegment attended(Cause cause = Cause::attention) {
  return {.kind = PassSegment::Kind::attention, .cause = cause};
}
inline PassSegment exchanged(std::int64_t time_ns, Cause cause, int gpus = 2, int stride = 1,
                             std::int64_t bytes = 0, std::string_view op = "all_to_all") {
  return {.kind = PassSegment::Kind::exchange,
          .cause = cause,
          .time_ns = time_ns,
          .op = op,
          .gpus = gpus,
          .stride = stride,
          .bytes = bytes};
}

// What every layer of a kind exchanges behind a phase, as attention that moves between ranks would.
inline AddedSegment moved(LayerKind layer, LayerPhase behind, const PassSegment& segment) {
  return {.layer = layer, .behind = behind, .segment = segment};
}

inline RingPrice ring_of(std::int64_t compute_ns, int steps = 1, std::int64_t transfer_ns = 0) {
  return {.steps = steps, .compute_ns = compute_ns, .transfer_ns = transfer_ns};
}

// Equal units of one layer each, with an embedding before them and a head behind if the chunk has these.
inline StatesPrice unit_per_layer(const ChunkShape& chunk, std::int64_t gather_ns, std::int64_t reduce_ns) {
  StatesPrice states;
  for (int i = 0; i < chunk.n_layers(); ++i) {
    states.units.push_back({.first_layer = i, .n_layers = 1, .gather_ns = gather_ns, .reduce_ns = reduce_ns});
  }
  return states;
}

// Ends of a step, in nanoseconds.
inline std::int64_t step_ns(std::span<const RankWork> ranks, StepDetail detail, double slow_down = 1,
                            const Topology* topology = nullptr) {
  StepArena arena({.detail = detail, .topology = topology, .slow_down = slow_down});
  return run_step(ranks, arena).end.ns;
}

// A made-up step: prices that no profile gives, of every structure that plans have.
struct RandomStep {
  PricedPlan plan;
  std::deque<TokenPrices> tokens;
  std::deque<MicroBatchPrice> prices;
  std::vector<RankWork> ranks;
};

class RandomSteps {
 public:
  explicit RandomSteps(std::uint32_t seed) : generator_(seed), shards_generator_(seed) {}

  int below(int n) { return static_cast<int>(generator_() % static_cast<std::uint32_t>(n)); }
  bool coin() { return below(2) == 0; }

  RandomStep next() {
    RandomStep step;
    most_ns_ = std::array{3, 40, 1'000'000}[static_cast<std::size_t>(below(3))];
    draw_plan(step.plan);
    const int n_token_counts = 1 + below(3);
    for (int i = 0; i < n_token_counts; ++i) step.tokens.push_back(token_prices(step.plan.plan));
    for (int i = 0; i < 8; ++i)
      step.prices.push_back(
          price(step.plan.plan, step.tokens[static_cast<std::size_t>(below(n_token_counts))]));
    const int n_ranks = step.plan.plan.dp_degree();
    // An interleaved pipeline wants a multiple of its stages, micro-batches elsewhere are as they come.
    const int unit = step.plan.plan.virtual_stages > 1 ? step.plan.plan.pp_degree : 1;
    for (int r = 0; r < n_ranks; ++r) {
      RankWork& rank = step.ranks.emplace_back();
      rank.plan = &step.plan;
      rank.first_gpu = r * step.plan.plan.sequence_gpus();
      for (int n = unit * below(5); n > 0; --n)
        rank.micro_batches.push_back(&step.prices[static_cast<std::size_t>(below(8))]);
      draw_slow_down(step.plan, rank);
    }
    return step;
  }

 private:
  std::int64_t ns() { return below(most_ns_ + 1); }

  double slow_down() { return 0.9 + 0.1 * below(5); }

  // Some ranks are slow, on some or all of their stages, or in every pass in another way.
  void draw_slow_down(const PricedPlan& plan, RankWork& rank) {
    if (below(4) > 0) return;
    for (int stage = 0; stage < plan.plan.pp_degree; ++stage) rank.stage_slow_down.push_back(slow_down());
    if (coin()) return;
    const std::size_t n_passes = 2 * plan.chunks.size() * rank.micro_batches.size();
    for (std::size_t i = 0; i < n_passes; ++i) rank.pass_slow_down.push_back(slow_down());
  }

  void draw_plan(PricedPlan& priced) {
    ParallelPlan& plan = priced.plan;
    plan.zero_stage = below(4);
    plan.execution.overlaps_states = coin();
    plan.execution.overlaps_gather = coin();
    plan.tp_degree = 1 + below(2);
    plan.sequence.ulysses = 1 + below(2);
    plan.sequence.ring = coin() ? 1 : 1 + below(3);
    if (coin()) {
      plan.pp_degree = 2 + below(3);
      plan.virtual_stages = 1 + below(3);
    }
    const int n_ranks = 1 + below(4);
    plan.n_gpus = plan.rank_gpus() * n_ranks;
    has_experts_ = coin();
    // Experts on the GPUs of one rank, or of several.
    const int own = plan.sequence.gpus_per_pack();
    const int blocks = n_ranks % 2 == 0 && coin() ? n_ranks / 2 : n_ranks;
    if (has_experts_) plan.ep_degree = coin() ? own : own * blocks;
    draw_shards(plan, n_ranks);
    structure_ = static_cast<std::uint32_t>(generator_());
    const int n_chunks = plan.pp_degree * plan.virtual_stages;
    for (int stage = 0; stage < plan.pp_degree; ++stage) priced.sends_in_node.push_back(stage % 3 == 1);
    for (int i = 0; i < n_chunks; ++i) {
      const bool may_be_empty = n_chunks > 1 && (i == 0 || i == n_chunks - 1);
      const int n_layers = below(4) + (may_be_empty ? 0 : 1);
      ChunkShape chunk;
      chunk.n_experts = has_experts_ ? (i > 0 ? n_layers : below(n_layers + 1)) : 0;
      chunk.n_dense = n_layers - chunk.n_experts;
      chunk.n_checkpointed = below(n_layers + 1);
      chunk.has_embedding = i == 0;
      chunk.has_head = i == n_chunks - 1;
      priced.chunks.push_back(chunk);
      priced.states.push_back(states(plan, chunk));
    }
  }

  // Of weights before their gather, and of gradients after their reduction.
  void draw_host_copies(const ParallelPlan& plan, StatesPrice& states) {
    if (plan.zero_stage < 2 || shards_generator_() % 3 > 0) return;
    for (StateUnit& unit : states.units) {
      if (plan.zero_stage == 3) unit.fetch_ns = static_cast<std::int64_t>(shards_generator_()) % most_ns_;
      unit.drain_ns = static_cast<std::int64_t>(shards_generator_()) % most_ns_;
    }
  }

  // Shard groups of some ranks, all of the same number, or of a part of a rank.
  void draw_shards(ParallelPlan& plan, int n_ranks) {
    const auto drawn = shards_generator_();
    if (plan.zero_stage == 0 || drawn % 3 > 0) return;
    const int of_rank = plan.sequence.gpus_per_pack();
    const std::array degrees = {1, of_rank, n_ranks % 2 == 0 ? of_rank * n_ranks / 2 : of_rank};
    plan.shard_degree = degrees[drawn / 3 % 3];
    if (plan.shard_degree % plan.ep_degree != 0) plan.shard_degree = 0;
  }

  StatesPrice states(const ParallelPlan& plan, const ChunkShape& chunk) {
    StatesPrice states;
    if (chunk.has_embedding) states.units.push_back({.has_embedding = true});
    for (int i = 0; i < chunk.n_layers(); ++i) states.units.push_back({.first_layer = i, .n_layers = 1});
    if (chunk.has_head) states.units.push_back({.first_layer = chunk.n_layers(), .has_head = true});
    // Buckets of units that lie side by side.
    while (plan.zero_stage < 3 && states.units.size() > 1 && coin()) {
      const auto i = static_cast<std::size_t>(below(static_cast<int>(states.units.size()) - 1));
      StateUnit& into = states.units[i];
      const StateUnit& from = states.units[i + 1];
      if (into.n_layers == 0) into.first_layer = from.first_layer;
      into.n_layers += from.n_layers;
      into.has_head = into.has_head || from.has_head;
      states.units.erase(states.units.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    for (StateUnit& unit : states.units) {
      unit.reduce_ns = ns();
      unit.sum_ns = ns();
      if (plan.zero_stage > 0) unit.gather_ns = ns();
      unit.reduce_bytes = below(1000);
      unit.gather_bytes = below(1000);
    }
    states.gpus = shard_gpus(plan);
    states.stride = plan.tp_degree;
    states.replicas = shard_replicas(plan);
    draw_host_copies(plan, states);
    for (StateUnit& unit : states.units) {
      if (states.replicas == 1) break;
      unit.replicas_ns = static_cast<std::int64_t>(shards_generator_()) % most_ns_;
      unit.replicas_bytes = 100;
      unit.reduce_ns += unit.replicas_ns;
    }
    states.optimizer_ns = ns();
    states.step_ns = ns();
    return states;
  }

  PassSegment exchange(Cause cause, int gpus, int stride) {
    return exchanged(ns(), cause, gpus, stride, below(1000));
  }

  // The same stages for every token count of a step, at times of their own. The bits of structure_ say which.
  std::vector<PassSegment> stages(const ParallelPlan& plan, bool has_experts, Cause attention) {
    const auto bit = [&](int i) { return (structure_ >> i & 1U) != 0; };
    std::vector<PassSegment> stages;
    if (bit(0)) stages.push_back(computed(ns()));
    if (plan.tp_degree > 1) stages.push_back(exchange(Cause::tensor, plan.tp_degree, 1));
    if (bit(1)) stages.push_back(computed(ns()));
    if (plan.sequence.ulysses > 1) {
      if (bit(2)) stages.push_back(computed(ns(), Cause::sequence));
      stages.push_back(exchange(Cause::sequence, plan.sequence.ulysses, plan.tp_degree));
    }
    stages.push_back(attended(attention));
    if (plan.sequence.ulysses > 1)
      stages.push_back(exchange(Cause::sequence, plan.sequence.ulysses, plan.tp_degree));
    if (bit(3)) stages.push_back(computed(ns()));
    if (has_experts && plan.ep_degree > 1) {
      stages.push_back(exchange(Cause::expert, plan.ep_degree, plan.tp_degree));
      if (bit(4)) stages.push_back(computed(ns()));
      stages.push_back(exchange(Cause::expert, plan.ep_degree, plan.tp_degree));
    }
    if (bit(5)) stages.push_back(computed(ns()));
    return stages;
  }

  TokenPrices token_prices(const ParallelPlan& plan) {
    TokenPrices prices;
    for (const bool has_experts : {false, true}) {
      LayerPrices& layer = prices.layers[has_experts ? 1 : 0];
      layer.forward = phase_of(stages(plan, has_experts, Cause::attention));
      layer.backward = phase_of(stages(plan, has_experts, Cause::attention));
      layer.recompute = phase_of((structure_ >> 6 & 1U) != 0 ? std::vector{attended(Cause::recompute)}
                                                             : stages(plan, has_experts, Cause::recompute));
    }
    const auto edge = [&](int bit) {
      std::vector<PassSegment> stages;
      if ((structure_ >> bit & 1U) != 0) stages.push_back(computed(ns()));
      if (plan.tp_degree > 1) stages.push_back(exchange(Cause::tensor, plan.tp_degree, 1));
      if ((structure_ >> (bit + 1) & 1U) != 0) stages.push_back(computed(ns()));
      return phase_of(stages);
    };
    prices.embedding_forward = edge(7);
    prices.embedding_backward = edge(9);
    prices.head_forward = edge(11);
    prices.head_backward = edge(13);
    for (PricedPhase* phase :
         {&prices.embedding_forward, &prices.embedding_backward, &prices.head_forward, &prices.head_backward,
          &prices.layers[0].forward, &prices.layers[0].recompute, &prices.layers[0].backward,
          &prices.layers[1].forward, &prices.layers[1].recompute, &prices.layers[1].backward})
      phase->n_kernels = static_cast<double>(shards_generator_() % 600);
    return prices;
  }

  MicroBatchPrice price(const ParallelPlan& plan, const TokenPrices& tokens) {
    MicroBatchPrice price;
    price.tokens = &tokens;
    price.attention_forward = ring_of(ns(), plan.sequence.ring, ns());
    price.attention_backward = ring_of(ns(), plan.sequence.ring, ns());
    price.overhead_ns = ns();
    price.stage_transfer_ns = plan.pp_degree > 1 ? ns() : 0;
    price.stage_transfer_in_node_ns = price.stage_transfer_ns / 3;
    price.stage_transfer_bytes = below(1000);
    const bool copies = shards_generator_() % 4 == 0;
    const bool waits = shards_generator_() % 4 == 0;
    const bool moves = plan.sequence_gpus() > 1 && shards_generator_() % 4 == 0;
    if (shards_generator_() % 3 == 0) {
      price.host.launch_s =
          1e-11 * static_cast<double>(shards_generator_() % static_cast<unsigned>(most_ns_));
      price.host.recomputed_launch_s = 3 * price.host.launch_s;
      price.host.loss_reads = static_cast<int>(shards_generator_() % 3);
    }
    std::int64_t time_ns = 0;
    for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
      for (const LayerPhase behind : {LayerPhase::forward, LayerPhase::recompute, LayerPhase::backward}) {
        if (waits) price.added.push_back(launched(kind, behind, ++time_ns));
        if (moves) {
          price.added.push_back(
              moved(kind, behind, exchanged(++time_ns, Cause::sequence, plan.sequence_gpus(), 1, 100)));
        }
        if (copies && behind != LayerPhase::recompute) price.added.push_back(copied(kind, behind, ++time_ns));
      }
    }
    for (RingPrice* ring : {&price.attention_forward, &price.attention_backward}) {
      ring->bytes = below(1000);
      ring->stride = plan.tp_degree * plan.sequence.ulysses;
      if (ring->steps > 1 && shards_generator_() % 2 == 0) ring->windowed_ns = 1 + ring->compute_ns / 2;
    }
    return price;
  }

  std::mt19937 generator_;
  std::mt19937 shards_generator_;
  int most_ns_ = 1;
  bool has_experts_ = false;
  std::uint32_t structure_ = 0;
};

}  // namespace packsim
