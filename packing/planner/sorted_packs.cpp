#include "packing/planner/sorted_packs.hpp"

#include <algorithm>

#include "packing/strategies/strategies.hpp"

namespace packsim {
namespace {

// The smallest degree whose packs of an even share of the iteration hold the longest sample.
std::size_t wide_degree(const BatchProblem& problem, const DegreeCosts& costs, std::int64_t gpu_tokens) {
  std::int64_t longest = 0;
  for (const std::int32_t length : problem.items.lengths_tokens) {
    if (!problem.items.skips(length)) longest = std::max<std::int64_t>(longest, length);
  }
  std::size_t degree = 0;
  const auto holds = [&](std::size_t d) {
    return std::min(costs.most_tokens(d), gpu_tokens * costs.sp_degree(d)) >= longest;
  };
  while (degree < costs.n_degrees() && !holds(degree)) ++degree;
  return degree;
}

}  // namespace

std::vector<ComposedIteration> sorted_packs(const BatchProblem& problem, const DegreeCosts& costs) {
  const BatchSetting& setting = problem.setting;
  const std::int64_t gpu_tokens = setting.tokens_per_iteration / setting.n_gpus;
  std::vector<ComposedIteration> iterations;
  const std::size_t wide = wide_degree(problem, costs, gpu_tokens);
  if (gpu_tokens < 1 || wide == costs.n_degrees()) return iterations;
  std::vector<std::size_t> degrees = {0};
  if (wide > 0) degrees.push_back(wide);
  std::vector<std::int64_t> capacities;
  for (const std::size_t d : degrees)
    capacities.push_back(std::min(costs.most_tokens(d), gpu_tokens * costs.sp_degree(d)));
  if (capacities.back() <= capacities.front() && degrees.size() > 1) return iterations;

  PackProblem items = problem.items;
  items.capacity_tokens = capacities.back();
  const std::vector<PackSet> groups = strategies_detail::hbp(items, capacities);
  std::vector<std::int32_t> lengths;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const int gpus = costs.sp_degree(degrees[g]);
    std::vector<std::pair<double, std::size_t>> sorted;
    for (std::size_t p = 0; p < groups[g].n_packs(); ++p) {
      lengths.clear();
      for (const ItemIndex item : groups[g][p]) lengths.push_back(items.lengths_tokens[item]);
      sorted.emplace_back(costs.pack_s(degrees[g], lengths), p);
    }
    std::ranges::sort(sorted);
    const auto n_ranks = static_cast<std::size_t>(setting.n_gpus / gpus);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (i % n_ranks == 0) iterations.emplace_back();
      const auto [time_s, p] = sorted[i];
      ComposedIteration& iteration = iterations.back();
      iteration.packs.push_back({.degree = degrees[g],
                                 .first_gpu = static_cast<int>(i % n_ranks) * gpus,
                                 .round = 0,
                                 .time_s = time_s,
                                 .items = {groups[g][p].begin(), groups[g][p].end()}});
      iteration.time_s = std::max(iteration.time_s, time_s);
      iteration.gpu_s += gpus * time_s;
    }
  }
  return iterations;
}

}  // namespace packsim
