#include "experiment/mixing/pool_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "experiment/mixing/plan_joiner.hpp"
#include "experiment/plans/joined_plans.hpp"
#include "packing/algorithms/counter_random.hpp"
#include "packing/algorithms/shuffle.hpp"
#include "packing/mixing/draw_purpose.hpp"

namespace packsim {
namespace {

struct PoolPack {
  std::size_t group = 0;
  std::vector<std::uint32_t> samples;  // indices in the data set
};

// The packs of one arm, and in which order they come.
struct Pool {
  std::vector<PoolPack> packs;
  double samples_per_pack = 0;
  std::vector<std::uint32_t> order = {};
  std::size_t n_drawn = 0;
};

class Pools {
 public:
  Pools(const StrategySpec& spec, const MixedDraws& draws, std::uint64_t seed) : draws_(draws), seed_(seed) {
    for (std::size_t arm = 0; arm < draws.arms.n_arms(); ++arm) pools_.push_back(pack_arm(spec, arm));
    if (std::ranges::all_of(pools_, [](const Pool& pool) { return pool.packs.empty(); }))
      throw std::invalid_argument("expected samples to train, got none: all are empty");
  }

  const PoolPack& draw(const MixtureProbabilities& p) {
    std::vector<double> weights;
    for (std::size_t subset = 0; subset < p.subsets.size(); ++subset) {
      for (std::size_t group = 0; group < p.groups[subset].size(); ++group) {
        const Pool& pool = pools_[weights.size()];
        weights.push_back(pool.packs.empty() ? 0 : p.of(subset, group) / pool.samples_per_pack);
      }
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (!(sum > 0)) throw std::invalid_argument("mixing: expected an arm with samples to train, got none");
    for (double& weight : weights) weight /= sum;
    const std::uint64_t word = word_of_name(seed_, {draw_purpose(DrawPurpose::pool), n_draws_++});
    return next_of(drawn_index(weights, open_uniform(word)));
  }

 private:
  Pool pack_arm(const StrategySpec& spec, std::size_t arm) const {
    const std::span<const std::uint32_t> samples = draws_.arms.samples(arm);
    std::vector<std::int32_t> lengths;
    for (const std::uint32_t sample : samples) lengths.push_back(draws_.sample_lengths_tokens[sample]);
    const Packing packing = pack(spec.strategy, pack_request(spec, spec.groups, lengths));
    Pool pool;
    std::size_t n_samples = 0;
    for (std::size_t g = 0; g < packing.groups.size(); ++g) {
      for (std::size_t p = 0; p < packing.groups[g].n_packs(); ++p) {
        PoolPack& made = pool.packs.emplace_back();
        made.group = g;
        for (const ItemIndex item : packing.groups[g][p]) made.samples.push_back(samples[item]);
        n_samples += made.samples.size();
      }
    }
    if (!pool.packs.empty())
      pool.samples_per_pack = static_cast<double>(n_samples) / static_cast<double>(pool.packs.size());
    return pool;
  }

  const PoolPack& next_of(std::size_t arm) {
    Pool& pool = pools_[arm];
    const std::size_t n = pool.packs.size();
    if (pool.n_drawn % n == 0) {
      pool.order.resize(n);
      std::iota(pool.order.begin(), pool.order.end(), 0U);
      Generator generator(static_cast<std::uint32_t>(
          word_of_name(seed_, {draw_purpose(DrawPurpose::pool), arm, pool.n_drawn / n, 1}) >> 32));
      shuffle(std::span(pool.order), generator);
    }
    return pool.packs[pool.order[pool.n_drawn++ % n]];
  }

  const MixedDraws& draws_;
  std::uint64_t seed_;
  std::vector<Pool> pools_;  // [n_arms]
  std::uint64_t n_draws_ = 0;
};

void check_pools(const StrategySpec& spec) {
  if (forms_iterations(spec)) {
    throw std::invalid_argument(fmt::format(
        "mixture_packs: expected window or run for strategy {}, which forms iterations itself, got pools",
        spec.strategy));
  }
  if (spec.over_long != OverLong::error && spec.over_long != OverLong::own_pack)
    throw std::invalid_argument("over_long: expected error or own_pack beside \"mixture_packs\": \"pools\"");
}

// Packs of one window as a packing of their own.
struct WindowPacks {
  std::vector<std::uint32_t> draws;   // the draw that each item is
  std::vector<std::int32_t> lengths;  // lengths of the items
  std::vector<PackSet> groups;
};

std::int64_t tokens_of(std::span<const std::int32_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

}  // namespace

PlannedStrategy plan_pools(const Scenario& scenario, const StrategySpec& spec, const MixedDraws& draws) {
  check_pools(spec);
  Pools pools(spec, draws, scenario.mixing->options.seed);
  MixedDraws drawn{.sources = {},
                   .sample_lengths_tokens = draws.sample_lengths_tokens,
                   .arms = draws.arms,
                   .samples = {},
                   .arm_of = {},
                   .lengths_tokens = {},
                   .windows = {},
                   .n_probed_updates = 0,
                   .seed = 0};
  struct DrawnPack {
    std::size_t group;
    std::vector<std::uint32_t> draws;
  };
  std::vector<DrawnPack> waiting;
  PlanJoiner joiner(scenario, drawn);
  joiner.own_lengths();
  const std::span<const std::int32_t> all_lengths = draws.lengths_tokens;
  for (std::size_t w = 0; w < draws.windows.size(); ++w) {
    const MixtureWindow& window = draws.windows[w];
    std::int64_t left_tokens = tokens_of(all_lengths.subspan(window.first_draw, window.n_draws));
    std::vector<DrawnPack> packs = std::move(waiting);
    waiting.clear();
    while (left_tokens > 0) {
      const PoolPack& pack = pools.draw(window.probabilities);
      DrawnPack& one = packs.emplace_back(DrawnPack{.group = pack.group, .draws = {}});
      for (const std::uint32_t sample : pack.samples) {
        one.draws.push_back(static_cast<std::uint32_t>(drawn.lengths_tokens.size()));
        drawn.samples.push_back(sample);
        drawn.lengths_tokens.push_back(draws.sample_lengths_tokens[sample]);
        left_tokens -= drawn.lengths_tokens.back();
      }
    }
    WindowPacks made{.draws = {}, .lengths = {}, .groups = std::vector<PackSet>(spec.groups.size())};
    for (const DrawnPack& pack : packs) {
      for (const std::uint32_t draw : pack.draws) {
        made.groups[pack.group].items.push_back(static_cast<ItemIndex>(made.draws.size()));
        made.draws.push_back(draw);
        made.lengths.push_back(drawn.lengths_tokens[draw]);
      }
      made.groups[pack.group].close_pack();
    }
    Packing packing;
    packing.strategy = find_strategy(spec.strategy);
    for (const GroupSpec& group : spec.groups) packing.capacities_tokens.push_back(group.capacity_tokens);
    packing.groups = std::move(made.groups);
    packing.lengths_tokens = made.lengths;
    packing.counts = {.n_samples = std::ssize(made.lengths), .n_tokens = tokens_of(made.lengths)};
    StrategySpec own = spec_of_part(spec, w);
    if (w + 1 < draws.windows.size()) own.last_iteration = LastIteration::drop;
    PlannedStrategy plan = schedule_packing(scenario, own, std::move(packing), spec.groups);
    std::vector<std::uint32_t> left;
    std::vector<std::size_t> next(spec.groups.size(), 0);
    for (DrawnPack& pack : packs) {
      const std::size_t p = next[pack.group]++;
      if (w + 1 == draws.windows.size() || plan.uses.of_pack[pack.group][p] > 0) continue;
      for (const ItemIndex item : plan.packing.groups[pack.group][p]) left.push_back(item);
      waiting.push_back(std::move(pack));
    }
    std::ranges::sort(left);
    joiner.add(std::move(plan), own, std::move(made.draws), left);
  }
  return joiner.join(spec);
}

}  // namespace packsim
