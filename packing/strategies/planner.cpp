#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "packing/algorithms/item_order.hpp"
#include "packing/batch_problem.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/planner/compose_iteration.hpp"
#include "packing/planner/compose_rounds.hpp"
#include "packing/planner/cut_iterations.hpp"
#include "packing/planner/exact.hpp"
#include "packing/planner/one_degree.hpp"
#include "packing/planner/options.hpp"
#include "packing/planner/small_jobs/small_job.hpp"
#include "packing/planner/sorted_packs.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {

namespace {

void check_groups(const BatchProblem& problem) {
  const auto refuse = [](std::size_t group, const std::string& what) {
    throw std::invalid_argument("planner: setting.groups[" + std::to_string(group) + "]." + what);
  };
  if (problem.items.own_packs)
    throw std::invalid_argument("planner: expected no packs over the capacity of all groups");
  const BatchSetting& setting = problem.setting;
  for (std::size_t g = 0; g < setting.groups.size(); ++g) {
    const BatchGroup& group = setting.groups[g];
    if (group.cost.tokens_s.tokens.empty()) refuse(g, "cost: expected a price, got none");
    // Blocks of GPUs lie inside each other.
    const auto nests = [&](int other) {
      return std::max(group.gpus_per_pack, other) % std::min(group.gpus_per_pack, other) == 0;
    };
    for (const BatchGroup& other : setting.groups) {
      if (!nests(other.gpus_per_pack)) {
        refuse(g, "GPUs of a pack (sp_degree): expected a divisor or a multiple of " +
                      std::to_string(other.gpus_per_pack) + ", got " + std::to_string(group.gpus_per_pack));
      }
    }
    if (setting.n_gpus % group.gpus_per_pack != 0) {
      refuse(g, "GPUs of a pack (sp_degree): expected a divisor of " + std::to_string(setting.n_gpus) +
                    " GPUs, got " + std::to_string(group.gpus_per_pack));
    }
  }
}

double total_s(std::span<const ComposedIteration> iterations, double step_s) {
  double total_s = 0;
  for (const ComposedIteration& iteration : iterations) total_s += iteration.time_s + step_s;
  return total_s;
}

// Tokens of each pack; where a round has one group, those of the largest of its round.
std::vector<std::int64_t> group_tokens(const ComposedIteration& iteration,
                                       std::span<const std::int32_t> lengths, bool one_group_in_round) {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> most;  // by round
  for (const ComposedPack& pack : iteration.packs) {
    tokens.push_back(0);
    for (const ItemIndex item : pack.items) tokens.back() += lengths[item];
    const auto round = static_cast<std::size_t>(pack.round);
    if (round >= most.size()) most.resize(round + 1);
    most[round] = std::max(most[round], tokens.back());
  }
  for (std::size_t i = 0; one_group_in_round && i < tokens.size(); ++i)
    tokens[i] = most[static_cast<std::size_t>(iteration.packs[i].round)];
  return tokens;
}

void append(const ComposedIteration& iteration, const DegreeCosts& costs,
            std::span<const std::int32_t> lengths, bool one_group_in_round, BatchPlan& plan) {
  plan.iterations.push_back({.first_placed = static_cast<std::uint32_t>(plan.placed.size()),
                             .n_placed = static_cast<std::uint32_t>(iteration.packs.size())});
  const std::vector<std::int64_t> tokens = group_tokens(iteration, lengths, one_group_in_round);
  for (std::size_t i = 0; i < iteration.packs.size(); ++i) {
    const ComposedPack& pack = iteration.packs[i];
    const std::size_t group = costs.group_of(pack.degree, tokens[i]);
    PackSet& packs = plan.groups[group];
    plan.placed.push_back({.pack = static_cast<std::uint32_t>(packs.n_packs()),
                           .first_gpu = static_cast<std::uint32_t>(pack.first_gpu),
                           .group = static_cast<std::uint16_t>(group),
                           .round = static_cast<std::uint16_t>(pack.round)});
    packs.items.insert(packs.items.end(), pack.items.begin(), pack.items.end());
    packs.close_pack();
  }
}

BatchPlan plan_of(std::span<const ComposedIteration> iterations, const DegreeCosts& costs,
                  std::span<const std::int32_t> lengths, const BatchSetting& setting) {
  BatchPlan plan;
  plan.groups.resize(setting.groups.size());
  for (const ComposedIteration& iteration : iterations)
    append(iteration, costs, lengths, setting.one_group_in_round, plan);
  return plan;
}

// Iterations whose packs have any SP degree.
std::vector<ComposedIteration> mixed_iterations(const BatchProblem& problem, const DegreeCosts& costs,
                                                std::span<const ItemIndex> order) {
  const BatchSetting& setting = problem.setting;
  const std::span<const std::int32_t> lengths = problem.items.lengths_tokens;
  std::vector<ComposedIteration> iterations;
  for (const std::vector<ItemIndex>& items :
       cut_iterations(costs, lengths, order,
                      {.n_gpus = setting.n_gpus,
                      .tokens_per_iteration = setting.tokens_per_iteration,
                      .window_iterations = problem.items.options[kWindowIterations].value_or(0),
                      .rounds = setting.rounds_in_step ? &setting.rounds : nullptr})) {
    iterations.push_back(setting.rounds_in_step
                             ? compose_rounds(costs, lengths, items, setting.n_gpus, setting.rounds)
                             : compose_iteration(costs, lengths, items, setting.n_gpus));
  }
  return iterations;
}

bool is_small(const BatchProblem& problem, std::span<const ItemIndex> order) {
  return order.size() <= kMostItemsOfSmallJob && problem.setting.rounds.multiple == 1;
}

std::int64_t tokens_of(std::span<const ItemIndex> items, std::span<const std::int32_t> lengths) {
  std::int64_t tokens = 0;
  for (const ItemIndex item : items) tokens += lengths[item];
  return tokens;
}

std::int32_t longest_of(std::span<const ItemIndex> items, std::span<const std::int32_t> lengths) {
  std::int32_t longest = 0;
  for (const ItemIndex item : items) longest = std::max(longest, lengths[item]);
  return longest;
}

BatchPlan plan_planner(const BatchProblem& problem) {
  check_groups(problem);
  const BatchSetting& setting = problem.setting;
  const DegreeCosts costs(setting.groups);
  const std::span<const std::int32_t> lengths = problem.items.lengths_tokens;
  const std::vector<ItemIndex> order = packing_order(problem.items);
  if (order.size() <= kMostExactItems && !setting.rounds_in_step && !setting.one_degree) {
    return plan_of(
        best_iterations(costs, lengths, order, setting.n_gpus, setting.tokens_per_iteration, setting.step_s),
        costs, lengths, setting);
  }
  std::vector<ComposedIteration> iterations = setting.one_degree
                                                  ? one_degree_iterations(problem, costs, order)
                                                  : mixed_iterations(problem, costs, order);
  // Packs sorted over the whole data set may leave less to wait for.
  if (!problem.items.options[kWindowIterations]) {
    const double limit_s = total_s(iterations, setting.step_s);
    std::vector<ComposedIteration> sorted = sorted_packs(problem, costs, limit_s);
    if (!sorted.empty() && total_s(sorted, setting.step_s) < limit_s) iterations = std::move(sorted);
    if (is_small(problem, order)) {
      const IterationSize size{setting.tokens_per_iteration, longest_of(order, lengths)};
      iterations = plan_small_job(problem, costs, order, iterations,
                                  iteration_limits(tokens_of(order, lengths), size));
    }
  }
  return plan_of(iterations, costs, lengths, setting);
}

constexpr std::array<const Option*, 3> kPlannerOptions = {&kWindowIterations, &kShuffle, &kSeed};

}  // namespace

extern constinit const Strategy planner = {
    .name = "planner",
    .summary =
        "Our own: whole iterations that keep all GPUs busy equally long, every pack at the SP degree, length "
        "and checkpointing that cost least.",
    .complexity = "O(N log N)",
    .source = "docs/planner.md",
    .plan_batches = plan_planner,
    .options = kPlannerOptions,
    .default_order = PackOrder::neighbours,
    .mixes_groups = true,
    .chooses_groups = true,
    .needs_prices = true,
};

}  // namespace packsim::strategies_detail
