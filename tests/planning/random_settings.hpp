#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"
#include "packing/planner/small_jobs/small_job.hpp"

/// Made-up settings and samples for tests of the planner, drawn by a seed.
namespace packsim::testing {

// How GPUs wait for each other.
struct Ties {
  const char* name;
  bool rounds_in_step;
  bool one_degree;
  double fill_rounds;
};
inline constexpr std::array<Ties, 6> kTies = {{{"blocks", false, false, 0},
                                               {"blocks of one degree", false, true, 0},
                                               {"rounds", true, false, 0},
                                               {"rounds of one degree", true, true, 0},
                                               {"pipeline", false, true, 2},
                                               {"pipeline of rounds", true, true, 1.5}}};

inline void tie(BatchSetting& setting, const Ties& ties) {
  setting.rounds_in_step = ties.rounds_in_step;
  setting.one_degree = ties.one_degree;
  setting.rounds.fill_rounds = ties.fill_rounds;
}

class SmallDraws {
 public:
  explicit SmallDraws(std::uint32_t seed) : generator_(seed) {}
  int below(int n) { return static_cast<int>(generator_() % static_cast<std::uint32_t>(n)); }
  double part() { return static_cast<double>(generator_() >> 8) * 0x1p-24; }

 private:
  std::mt19937 generator_;
};

// Two pack lengths for each degree, of which the longer one costs more.
inline BatchSetting random_setting(SmallDraws& draws, const Ties& ties) {
  BatchSetting setting;
  setting.n_gpus = 1 << draws.below(4);
  tie(setting, ties);
  setting.step_s = draws.part();
  setting.hidden_s = draws.below(2) * 40 * draws.part();
  const double fixed_s = 5 * draws.part();
  const double share_s = 0.1 * draws.part();
  for (int degree = 1; degree <= setting.n_gpus; degree *= 2) {
    for (const int length : {100, 300}) {
      BatchGroup group{.capacity_tokens = length * degree, .gpus_per_pack = degree};
      const double rate = (length == 300 ? 1.2 : 1.0) * (1 + share_s * degree) / degree;
      group.cost.tokens_s = {
          .tokens = {0, group.capacity_tokens},
          .time_s = {fixed_s, fixed_s + rate * static_cast<double>(group.capacity_tokens)}};
      group.cost.document_s = {.tokens = {0, 100, 300, 2400},
                               .time_s = {0, 10.0 / degree, 90.0 / degree, 5760.0 / degree}};
      setting.groups.push_back(group);
    }
  }
  std::ranges::stable_sort(setting.groups, {}, &BatchGroup::capacity_tokens);
  setting.tokens_per_iteration = setting.n_gpus * (100 + draws.below(500));
  return setting;
}

inline std::vector<std::int32_t> random_samples(SmallDraws& draws, const BatchSetting& setting, int n) {
  std::vector<std::int32_t> lengths;
  const int most = 300 * setting.n_gpus;
  for (int i = 0; i < n; ++i) lengths.push_back(1 + draws.below(draws.below(6) == 0 ? most : most / 8));
  return lengths;
}

// Of a small job with these samples.
inline IterationLimits limits_of(const BatchSetting& setting, std::span<const std::int32_t> lengths) {
  return iteration_limits(std::reduce(lengths.begin(), lengths.end(), std::int64_t{0}),
                          {setting.tokens_per_iteration, std::ranges::max(lengths)});
}

inline std::vector<ItemIndex> all_of(std::span<const std::int32_t> lengths) {
  std::vector<ItemIndex> items(lengths.size());
  std::iota(items.begin(), items.end(), 0U);
  return items;
}

// Every sample in a pack of its own, as many packs in an iteration as it has tokens for.
inline std::vector<ComposedIteration> plain_start(const DegreeCosts& costs,
                                                  std::span<const std::int32_t> lengths,
                                                  std::int64_t most_tokens) {
  std::vector<ComposedIteration> iterations;
  std::int64_t tokens = most_tokens;
  for (ItemIndex item = 0; item < lengths.size(); ++item) {
    if (iterations.empty() || tokens + lengths[item] > most_tokens) {
      iterations.emplace_back();
      tokens = 0;
    }
    tokens += lengths[item];
    iterations.back().packs.push_back({.degree = costs.n_degrees() - 1, .items = {item}});
  }
  return iterations;
}

}  // namespace packsim::testing
