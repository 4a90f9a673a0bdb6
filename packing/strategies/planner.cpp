#include <stdexcept>
#include <string>

#include "packing/batch_problem.hpp"
#include "packing/item_order.hpp"
#include "packing/planner/compose_iteration.hpp"
#include "packing/planner/cut_iterations.hpp"
#include "packing/strategies/strategies.hpp"

namespace packsim::strategies_detail {

BatchPlan planner(const BatchProblem& problem) {
  const BatchSetting& setting = problem.setting;
  for (std::size_t g = 0; g < setting.groups.size(); ++g) {
    if (setting.groups[g].cost.tokens_s.tokens.empty())
      throw std::invalid_argument("setting.groups[" + std::to_string(g) +
                                  "].cost: expected a price, got none");
  }
  const DegreeCosts costs(setting.groups);
  const std::span<const std::int32_t> lengths = problem.items.lengths_tokens;
  const std::vector<ItemIndex> order = packing_order(problem.items);
  BatchPlan plan;
  plan.groups.resize(setting.groups.size());
  for (const std::vector<ItemIndex>& items :
       cut_iterations(costs, lengths, order,
                      {.n_gpus = setting.n_gpus,
                      .tokens_per_iteration = setting.tokens_per_iteration,
                      .window_iterations = problem.items.options.window_iterations})) {
    const ComposedIteration composed = compose_iteration(costs, lengths, items, setting.n_gpus);
    plan.iterations.push_back({.first_placed = static_cast<std::uint32_t>(plan.placed.size()),
                               .n_placed = static_cast<std::uint32_t>(composed.packs.size())});
    for (const ComposedPack& pack : composed.packs) {
      std::int64_t tokens = 0;
      for (const ItemIndex item : pack.items) tokens += lengths[item];
      const std::size_t group = costs.group_of(pack.degree, tokens);
      PackSet& packs = plan.groups[group];
      plan.placed.push_back({.pack = static_cast<std::uint32_t>(packs.n_packs()),
                             .first_gpu = static_cast<std::uint32_t>(pack.first_gpu),
                             .group = static_cast<std::uint16_t>(group),
                             .round = static_cast<std::uint16_t>(pack.round)});
      packs.items.insert(packs.items.end(), pack.items.begin(), pack.items.end());
      packs.close_pack();
    }
  }
  return plan;
}

}  // namespace packsim::strategies_detail
