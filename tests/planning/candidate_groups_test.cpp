// Candidates cost the same whatever else was priced before, and are of the better way to share packs.

#include "planning/group_selection/candidate_groups.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "planning/bound/lower_bound.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/pricing.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

constexpr CandidateLimits kLimits = {.longest_tokens = 131072, .share_tokens = 16384, .most_depths = 3};

Cluster four_nodes() {
  Cluster cluster = example_cluster();
  cluster.nodes = 4;
  cluster.gpu.memory_bytes = std::int64_t{80} << 30;
  return cluster;
}

void check_same(const CandidateGroup& one, const CandidateGroup& other) {
  CHECK(one.plan == other.plan);
  CHECK(one.group.capacity_tokens == other.group.capacity_tokens);
  CHECK(one.group.cost.tokens_s.time_s == other.group.cost.tokens_s.time_s);
  CHECK(one.group.cost.document_s.time_s == other.group.cost.document_s.time_s);
  CHECK(one.group.cost.transfers_s.time_s == other.group.cost.transfers_s.time_s);
  CHECK(one.step_s == other.step_s);
  // Short packs are priced without checkpointed layers.
  if (one.plan.gc_layers > 0) return;
  CHECK(one.short_pack_s == other.short_pack_s);
  CHECK(one.short_step_s == other.short_step_s);
}

}  // namespace

TEST_CASE("Candidates and bounds are those that each plan has alone, whatever was priced before", "[plain]") {
  const Pricing pricing(kLlama8b, {.n_gpus = 32});
  const Cluster cluster = four_nodes();
  const FrameworkFactors factors;
  const Job job{pricing.model, cluster, pricing.profile, factors};
  const BoundSpace space{.tokens_per_iteration = 1 << 19, .most_pack_tokens = 1 << 19};
  const std::vector<LengthCount> lengths = {{1000, 500}, {30000, 20}, {131072, 1}};
  const auto store = std::make_shared<PriceStore>(pricing.profile, cluster);
  const std::vector<ParallelPlan> plans = {{.n_gpus = 32, .zero_stage = 1},
                                           {.n_gpus = 32, .zero_stage = 3},
                                           {.n_gpus = 32, .tp_degree = 2, .zero_stage = 2},
                                           {.n_gpus = 32, .pp_degree = 2},
                                           {.n_gpus = 32, .zero_stage = 3, .mlp_tiles = 2}};
  for (const ParallelPlan& plan : plans) {
    CAPTURE(plan.tp_degree, plan.pp_degree, plan.zero_stage, plan.mlp_tiles);
    const std::vector<CandidateGroup> candidates = candidate_groups(job, plan, kLimits, store);
    REQUIRE(candidates.size() > 5);
    const auto own = std::make_shared<PriceStore>(pricing.profile, cluster);
    for (const CandidateGroup& one : candidates)
      check_same(one, candidate_group(job, one.plan, one.group.capacity_tokens, own));
    const auto bound = LowerBounds(job, plan, space, store).at(plan.zero_stage, lengths);
    const auto bound_alone = LowerBounds(job, plan, space).at(plan.zero_stage, lengths);
    REQUIRE(bound);
    CHECK(bound->gpu_s == bound_alone->gpu_s);
  }
}

TEST_CASE("Packs are shared by every number of GPUs that fills nodes or equal parts of one") {
  const Pricing pricing(kLlama8b, {.n_gpus = 24});
  Cluster cluster = four_nodes();
  cluster.nodes = 3;
  const FrameworkFactors factors;
  const Job job{pricing.model, cluster, pricing.profile, factors};
  using Ways = std::vector<SequenceParallelism>;
  // 16 GPUs do not divide 24, and 32 heads are not divided by 3.
  CHECK(ways_to_share(job, {.n_gpus = 24}) == Ways{{1, 1},
                                                   {2, 1},
                                                   {1, 2},
                                                   {4, 1},
                                                   {2, 2},
                                                   {1, 4},
                                                   {8, 1},
                                                   {4, 2},
                                                   {2, 4},
                                                   {1, 8},
                                                   {8, 3},
                                                   {4, 6},
                                                   {2, 12},
                                                   {1, 24}});
  CHECK(ways_to_try(job, {.n_gpus = 24}) ==
        Ways{{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}, {8, 1}, {1, 8}, {8, 3}, {1, 24}});
  // Two tensor-parallel GPUs count as one, and four of them fill a node.
  CHECK(ways_to_try(job, {.n_gpus = 24, .tp_degree = 2}) ==
        Ways{{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}, {4, 3}, {1, 12}});
}

TEST_CASE("Of the ways to share a pack, candidates have the one that takes least for the longest sample") {
  const Pricing pricing(kLlama8b, {.n_gpus = 32});
  const Cluster cluster = four_nodes();
  const FrameworkFactors factors;
  const Job job{pricing.model, cluster, pricing.profile, factors};
  const ParallelPlan plan{.n_gpus = 32, .zero_stage = 3};
  // Every candidate of these degrees holds the sample, so that the first ones are compared.
  const CandidateLimits limits{.longest_tokens = 20000, .share_tokens = 16384, .most_depths = 5};
  const std::int32_t longest = 20000;
  int n_compared = 0;
  for (const CandidateGroup& one : candidate_groups(job, plan, limits)) {
    const int degree = one.plan.sequence.gpus_per_pack();
    if (degree < 16 || one.plan.gc_layers > 0) continue;
    for (const SequenceParallelism& sequence : ways_to_try(job, plan)) {
      if (sequence.gpus_per_pack() != degree) continue;
      ParallelPlan other = plan;
      other.sequence = sequence;
      const std::int64_t gpus = other.sequence_gpus();
      const std::int64_t capacity_tokens = gpus * most_tokens_that_fit(job, other, limits.share_tokens);
      REQUIRE(capacity_tokens >= longest);
      const CandidateGroup of_other = candidate_group(job, other, capacity_tokens, nullptr);
      CHECK(pack_time_s(one.group.cost, {&longest, 1}) <= pack_time_s(of_other.group.cost, {&longest, 1}));
      ++n_compared;
    }
  }
  // Ulysses of 1, 8 and as many GPUs as share the pack, 16 or 32.
  CHECK(n_compared == 6);
}
