// What minimize_gpu_time() promises, on random groups and on groups whose outcome is known.

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "packing/flexsp/local_search.hpp"
#include "packing/flexsp/minimize_gpu_time.hpp"
#include "tests/packing/flexsp_inputs.hpp"

namespace packsim::testing {
namespace {

// GPU-seconds of the groups, without the time that they wait for the slowest.
double gpu_time_s(std::span<const std::int32_t> lengths_tokens, const flexsp::Cluster& cluster,
                  std::span<const flexsp::PlacedGroup> groups) {
  double total_s = 0;
  for (const flexsp::PlacedGroup& group : groups) {
    const flexsp::Cluster::Kind& kind = cluster.kinds[group.kind];
    std::vector<std::int32_t> lengths;
    for (const ItemIndex item : group.items) lengths.push_back(lengths_tokens[item]);
    total_s += kind.gpus_per_pack * kind.cost.group_s(lengths);
  }
  return total_s;
}

using flexsp::Cluster;
using flexsp::PlacedGroup;
using PlacedGroups = std::vector<PlacedGroup>;

double makespan_s(const Lengths& lengths, const Cluster& cluster, const PlacedGroups& groups) {
  double slowest_s = 0;
  for (const PlacedGroup& group : groups) {
    Lengths own;
    for (const ItemIndex item : group.items) own.push_back(lengths[item]);
    slowest_s = std::max(slowest_s, cluster.kinds[group.kind].cost.group_s(own));
  }
  return slowest_s;
}

int n_gpus(const Cluster& cluster, const PlacedGroups& groups) {
  int n = 0;
  for (const PlacedGroup& group : groups) n += cluster.kinds[group.kind].gpus_per_pack;
  return n;
}

// PlacedGroups of any degree for as long as there are GPUs, items dealt out to those with room; what fits
// nowhere is left out.
PlacedGroups random_groups(Generator& generator, const Lengths& lengths, const Cluster& cluster) {
  PlacedGroups groups;
  for (int left = cluster.n_gpus; left > 0;) {
    const auto n_kinds = static_cast<std::uint32_t>(cluster.kinds.size());
    const std::size_t kind = uniform_up_to(generator, n_kinds - 1);
    if (cluster.kinds[kind].gpus_per_pack > left) continue;
    left -= cluster.kinds[kind].gpus_per_pack;
    groups.push_back({.kind = kind, .items = {}});
  }
  std::vector<std::int64_t> tokens(groups.size(), 0);
  for (const ItemIndex item : all_items(lengths)) {
    const std::size_t first = uniform_up_to(generator, static_cast<std::uint32_t>(groups.size()) - 1);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::size_t p = (first + i) % groups.size();
      if (tokens[p] + lengths[item] > cluster.kinds[groups[p].kind].capacity_tokens) continue;
      tokens[p] += lengths[item];
      groups[p].items.push_back(item);
      break;
    }
  }
  std::erase_if(groups, [](const PlacedGroup& group) { return group.items.empty(); });
  return groups;
}

std::vector<ItemIndex> items_of(const PlacedGroups& groups) {
  std::vector<ItemIndex> items;
  for (const PlacedGroup& group : groups) items.insert(items.end(), group.items.begin(), group.items.end());
  std::ranges::sort(items);
  return items;
}

// Tokens on more than one GPU.
std::int64_t exchanged_tokens(const Lengths& lengths, const Cluster& cluster, const PlacedGroups& groups) {
  std::int64_t tokens = 0;
  for (const PlacedGroup& group : groups) {
    if (cluster.kinds[group.kind].gpus_per_pack == 1) continue;
    for (const ItemIndex item : group.items) tokens += lengths[item];
  }
  return tokens;
}

}  // namespace

TEST_CASE(
    "minimize_gpu_timed groups train the same sequences, no longer, on no more GPUs, in no more GPU time") {
  Generator generator(11);
  const Cluster cluster = cluster_of(16, 4096, {1, 2, 4, 8});
  int n_cheaper = 0;
  for (int repeat = 0; repeat < 300; ++repeat) {
    const Lengths lengths = random_lengths(generator, 1 + uniform_up_to(generator, 60), 9000);
    const PlacedGroups before = random_groups(generator, lengths, cluster);
    PlacedGroups after = before;
    minimize_gpu_time(lengths, cluster, after);
    CHECK(items_of(after) == items_of(before));
    CHECK(makespan_s(lengths, cluster, after) <= makespan_s(lengths, cluster, before) * (1 + 1e-12));
    CHECK(n_gpus(cluster, after) <= n_gpus(cluster, before));
    const double before_s = gpu_time_s(lengths, cluster, before);
    const double after_s = gpu_time_s(lengths, cluster, after);
    CHECK(after_s <= before_s * (1 + 1e-12));
    CHECK(exchanged_tokens(lengths, cluster, after) <= exchanged_tokens(lengths, cluster, before));
    n_cheaper += after_s < 0.9999 * before_s ? 1 : 0;
    for (const PlacedGroup& group : after) {
      std::int64_t tokens = 0;
      for (const ItemIndex item : group.items) tokens += lengths[item];
      CHECK(!group.items.empty());
      CHECK(tokens <= cluster.kinds[group.kind].capacity_tokens);
    }
    PlacedGroups again = after;
    minimize_gpu_time(lengths, cluster, again);
    CHECK(gpu_time_s(lengths, cluster, again) == Approx(after_s).epsilon(1e-12));
  }
  CHECK(n_cheaper > 100);
}

TEST_CASE("short sequences beside a long one that decides leave their exchange") {
  // The long sequence needs 4 GPUs and takes the longest; four short ones of 4000 tokens came to a group of
  // 4, and one to the long one's. Each fits one GPU; the fifth finds no room and stays.
  const Cluster cluster = cluster_of(8, 4096, {1, 2, 4});
  const Lengths lengths = {12000, 4000, 4000, 4000, 4000, 4000};
  PlacedGroups groups = {{.kind = 2, .items = {0, 5}}, {.kind = 2, .items = {1, 2, 3, 4}}};
  minimize_gpu_time(lengths, cluster, groups);
  std::map<std::size_t, std::vector<std::vector<ItemIndex>>> by_kind;
  for (const PlacedGroup& group : groups) by_kind[group.kind].push_back(group.items);
  CHECK(by_kind[2] == std::vector<std::vector<ItemIndex>>{{0, 5}});
  CHECK(by_kind[1].empty());
  CHECK(by_kind[0].size() == 4);
}

TEST_CASE("a sequence moves to a smaller group with room") {
  // 96 tokens are free beside 4000 on one GPU: the 90 leave the pair, the 100 do not fit.
  const Cluster cluster = cluster_of(3, 4096, {1, 2});
  const Lengths lengths = {8000, 90, 100, 4000};
  PlacedGroups groups = {{.kind = 1, .items = {0, 1, 2}}, {.kind = 0, .items = {3}}};
  minimize_gpu_time(lengths, cluster, groups);
  CHECK(items_of({groups[0]}) == std::vector<ItemIndex>{0, 2});
  CHECK(items_of({groups[1]}) == std::vector<ItemIndex>{1, 3});
}

TEST_CASE("a group does not split where one of its parts would take longer than the slowest") {
  // Two sequences on two GPUs are the only group: 3000 tokens alone on one GPU take longer than all together.
  const Cluster cluster = cluster_of(2, 4096, {1, 2});
  const Lengths lengths = {3000, 10};
  PlacedGroups groups = {{.kind = 1, .items = {0, 1}}};
  minimize_gpu_time(lengths, cluster, groups);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].kind == 1);
  CHECK(groups[0].items == std::vector<ItemIndex>{0, 1});
}

TEST_CASE("a group does not split where its parts would take more GPU time") {
  // 1 ms a token on two GPUs, 3 ms on one: 200 tokens take 2 x 0.2 GPU-s, and 2 x 0.3 in two groups. The
  // other group, of 1 s, leaves time enough for these.
  Cluster cluster = cluster_of(4, 4096, {1, 2});
  cluster.kinds[0].cost = {.fixed_s = 0, .token_s = 3e-3};
  cluster.kinds[1].cost = {.fixed_s = 0, .token_s = 1e-3};
  const Lengths lengths = {100, 100, 1000};
  PlacedGroups groups = {{.kind = 1, .items = {0, 1}}, {.kind = 1, .items = {2}}};
  minimize_gpu_time(lengths, cluster, groups);
  CHECK(gpu_time_s(lengths, cluster, groups) == Approx(2 * 0.2 + 2 * 1.0));
  // At 1.5 ms it is 2 x 0.15 GPU-s.
  cluster.kinds[0].cost.token_s = 1.5e-3;
  minimize_gpu_time(lengths, cluster, groups);
  CHECK(gpu_time_s(lengths, cluster, groups) == Approx(2 * 0.15 + 2 * 1.0));
}

TEST_CASE(
    "minimizing the GPU time of global batches changes neither their time nor their samples, and saves GPU "
    "time") {
  Generator generator(12);
  const Cluster cluster = cluster_of(16, 4096, {1, 2, 4, 8});
  LocalSearchSolver solver;
  double saved_s = 0;
  for (int repeat = 0; repeat < 30; ++repeat) {
    const Lengths lengths = random_lengths(generator, 10 + uniform_up_to(generator, 60), 9000);
    const auto plan = [&](bool minimize_gpu_time) {
      return plan_global_batch(lengths, all_items(lengths), cluster,
                               {.seed = 7, .minimize_gpu_time = minimize_gpu_time}, solver);
    };
    const flexsp::BatchSolution without = plan(false);
    const flexsp::BatchSolution with = plan(true);
    CHECK(with.time_s <= without.time_s * (1 + 1e-12));
    const auto gpu_s = [&](const flexsp::BatchSolution& solution) {
      double total_s = 0;
      for (const auto& groups : solution.micro_batches) total_s += gpu_time_s(lengths, cluster, groups);
      return total_s;
    };
    if (with.micro_batches.size() == without.micro_batches.size())
      CHECK(gpu_s(with) <= gpu_s(without) * (1 + 1e-12));
    saved_s += gpu_s(without) - gpu_s(with);
  }
  CHECK(saved_s > 0);
}

}  // namespace packsim::testing
